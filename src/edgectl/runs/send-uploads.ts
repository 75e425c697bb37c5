import { UPLOAD_PIECE_BYTES } from "../../protocol/apps/uploads.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import type { ApiClient } from "../api/client.ts";
import { listUploads, putPiece } from "../api/uploads.ts";
import type { Context } from "../context.ts";
import type { UploadSource } from "../documents/large-content.ts";
import { EXIT, Failure } from "../failure.ts";

/** Sends what the service does not have of the uploads. One that was interrupted goes on where it stopped. Errors: the client's. */
export async function sendUploads(
  { printer }: Context,
  client: ApiClient,
  uploads: ReadonlyMap<string, UploadSource>,
): Promise<void> {
  if (uploads.size === 0) return;
  const known = new Map((await listUploads(client)).map((upload) => [upload.sha256, upload]));
  const missing = [...uploads].filter(([sha256]) => known.get(sha256)?.complete !== true);
  const bytes = missing.reduce(
    (sum, [sha256, source]) => sum + source.bytes - (known.get(sha256)?.received_bytes ?? 0),
    0,
  );
  if (bytes > 0) printer.note(`Sending ${formatBytes(bytes)} of files to the service, which devices fetch from there.`);
  for (const [sha256, source] of missing) {
    const from = Math.floor((known.get(sha256)?.received_bytes ?? 0) / UPLOAD_PIECE_BYTES);
    // Pieces before may be missing, if another client sends them too.
    if (!(await sendPieces(client, sha256, source, from)) && !(await sendPieces(client, sha256, source, 0)))
      throw new Failure("The service does not have all of the files that were sent to it.", {
        exitCode: EXIT.failed,
        hint: "Run the command again.",
      });
  }
}

/** @returns whether the upload is complete */
async function sendPieces(client: ApiClient, sha256: string, source: UploadSource, from: number): Promise<boolean> {
  let number = 0;
  for (const content of piecesOf(source.read())) {
    const isSent =
      number >= from && (await putPiece(client, { sha256, number, bytes: source.bytes, content })).complete;
    if (isSent) return true;
    number++;
  }
  return false;
}

function* piecesOf(chunks: Iterable<Uint8Array>): Generator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for (const chunk of chunks) {
    rest = rest.length === 0 ? Buffer.from(chunk.buffer, chunk.byteOffset, chunk.length) : Buffer.concat([rest, chunk]);
    while (rest.length >= UPLOAD_PIECE_BYTES) {
      yield rest.subarray(0, UPLOAD_PIECE_BYTES);
      rest = rest.subarray(UPLOAD_PIECE_BYTES);
    }
  }
  if (rest.length > 0) yield rest;
}
