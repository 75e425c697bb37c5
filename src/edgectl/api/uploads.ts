import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { requestOf } from "./request.ts";

const uploadSchema = z.looseObject({
  sha256: z.string(),
  bytes: z.number(),
  received_bytes: z.number(),
  complete: z.boolean(),
});
type Upload = z.output<typeof uploadSchema>;

const listSchema = z.looseObject({ uploads: z.array(uploadSchema) });

export async function listUploads(client: ApiClient): Promise<readonly Upload[]> {
  return (await client.json(requestOf("GET /v1/uploads"), listSchema)).uploads;
}

/** @param bytes of the whole upload */
export function putPiece(
  client: ApiClient,
  { sha256, number, bytes, content }: { sha256: string; number: number; bytes: number; content: Buffer },
): Promise<Upload> {
  const path = { sha256, number: String(number) };
  const body = { bytes, content_base64: content.toString("base64") };
  return client.json(requestOf("PUT /v1/uploads/{sha256}/pieces/{number}", { path, body }), uploadSchema);
}
