import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { UPLOAD_PIECE_BYTES } from "../../../src/protocol/apps/uploads.ts";
import type { ApiClient, ApiResponse } from "../api-client.ts";

/** A content of a file, as it is uploaded. */
export interface SomeUpload {
  readonly content: Buffer;
  readonly packed: Buffer;
  /** Of the upload. */
  readonly sha256: string;
  /** The file as a request has it. */
  readonly file: {
    readonly target: string;
    readonly sha256: string;
    readonly upload: { readonly sha256: string; readonly bytes: number; readonly size: number };
  };
}

export function sha256Of(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** Bytes that do not compress, the same for the same seed. */
export function noise(length: number, seed = "noise"): Buffer {
  const blocks = Array.from({ length: Math.ceil(length / 32) }, (_value, index) =>
    createHash("sha256").update(`${seed} ${index}`).digest(),
  );
  return Buffer.concat(blocks).subarray(0, length);
}

export function someUpload(content: Buffer, target = "/data/map"): SomeUpload {
  const packed = gzipSync(content);
  const sha256 = sha256Of(packed);
  const upload = { sha256, bytes: packed.length, size: content.length };
  return { content, packed, sha256, file: { target, sha256: sha256Of(content), upload } };
}

export function putPiece(
  api: ApiClient,
  { sha256, packed }: Pick<SomeUpload, "sha256" | "packed">,
  number: number,
): Promise<ApiResponse> {
  const piece = packed.subarray(number * UPLOAD_PIECE_BYTES, (number + 1) * UPLOAD_PIECE_BYTES);
  const body = { bytes: packed.length, content_base64: piece.toString("base64") };
  return api.put(`/v1/uploads/${sha256}/pieces/${number}`, body);
}

/** Uploads all pieces. */
export async function putAll(api: ApiClient, upload: SomeUpload): Promise<ApiResponse> {
  let last: ApiResponse | undefined;
  for (let number = 0; number * UPLOAD_PIECE_BYTES < upload.packed.length; number++)
    last = await putPiece(api, upload, number);
  if (last?.body["complete"] !== true) throw new Error(`the upload is not complete: ${JSON.stringify(last?.body)}`);
  return last;
}
