import { UPLOAD_PIECE_BYTES } from "../../protocol/apps/uploads.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import type { ApiClient } from "../api/client.ts";
import { listUploads, putPiece } from "../api/uploads.ts";
import type { Context } from "../context.ts";
import { EXIT, Failure } from "../failure.ts";

/** Sends what the service does not have of the uploads. One that was interrupted goes on where it stopped. Errors: the client's. */
export async function sendUploads(
  { printer }: Context,
  client: ApiClient,
  uploads: ReadonlyMap<string, Buffer>,
): Promise<void> {
  if (uploads.size === 0) return;
  const known = new Map((await listUploads(client)).map((upload) => [upload.sha256, upload]));
  const missing = [...uploads].filter(([sha256]) => known.get(sha256)?.complete !== true);
  const bytes = missing.reduce(
    (sum, [sha256, content]) => sum + content.length - (known.get(sha256)?.received_bytes ?? 0),
    0,
  );
  if (bytes > 0) printer.note(`Sending ${formatBytes(bytes)} of files to the service, which devices fetch from there.`);
  for (const [sha256, content] of missing) {
    const from = Math.floor((known.get(sha256)?.received_bytes ?? 0) / UPLOAD_PIECE_BYTES);
    // Pieces before may be missing, if another client sends them too.
    if (!(await sendPieces(client, sha256, content, from)) && !(await sendPieces(client, sha256, content, 0)))
      throw new Failure("The service does not have all of the files that were sent to it.", {
        exitCode: EXIT.failed,
        hint: "Run the command again.",
      });
  }
}

/** @returns whether the upload is complete */
async function sendPieces(client: ApiClient, sha256: string, content: Buffer, from: number): Promise<boolean> {
  let isComplete = false;
  for (let number = from; number * UPLOAD_PIECE_BYTES < content.length; number++) {
    const piece = content.subarray(number * UPLOAD_PIECE_BYTES, (number + 1) * UPLOAD_PIECE_BYTES);
    isComplete = (await putPiece(client, { sha256, number, bytes: content.length, content: piece })).complete;
    if (isComplete) return true;
  }
  return isComplete;
}
