import type { Readable } from "node:stream";
import type { ExportRequest } from "../image-path.ts";
import { getStream } from "./get.ts";
import { type HelperEngine, openHelper } from "./helper-container.ts";

export interface OpenExport extends AsyncDisposable {
  readonly stream: AsyncIterable<Uint8Array>;
}

/**
 * Opens an image's file system as an archive. A container is exported, not the image: that streams the file system as it
 * is, whereas engines write a saved image to their disk first, or have only its compressed layers.
 *
 * @param createSignal aborts until the archive is open
 * @param signal aborts the archive
 */
export async function openExport(
  engine: HelperEngine,
  request: ExportRequest,
  createSignal: AbortSignal,
  signal: AbortSignal,
): Promise<OpenExport> {
  await using owned = new AsyncDisposableStack();
  const { id } = owned.use(await openHelper(engine, request, createSignal));
  const stream = await getStream(engine.docker, `/containers/${id}/export`, {}, signal);
  owned.defer(() => void (stream as Readable).destroy());
  const kept = owned.move();
  return { stream, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}
