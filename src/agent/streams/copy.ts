import { posix } from "node:path";
import type { Readable } from "node:stream";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { STREAM_CHANNELS } from "../../protocol/link/stream-data.ts";
import { EngineError } from "../engine/engine-error.ts";
import { filterArchive } from "./archive-filter.ts";
import { findContainer } from "./find-container.ts";
import type { AppStream, StreamServices } from "./app-stream.ts";

/** Sends a file or directory of the app's container as a tar archive. */
export async function serveRead(stream: AppStream<"read">, services: StreamServices): Promise<undefined> {
  const { path } = stream.params;
  const { signal } = stream;
  const { id } = await findContainer(stream, services);
  let archive: Readable;
  try {
    archive = await services.access.readArchive(id, path, signal);
  } catch (error) {
    throw pathError(path, stream.app, error);
  }
  stream.opened();
  // Leaving the loop closes the engine's connection.
  for await (const bytes of archive as AsyncIterable<Uint8Array>) await stream.write(STREAM_CHANNELS.data, bytes);
  await stream.write(STREAM_CHANNELS.end, new Uint8Array());
  return undefined;
}

/** Unpacks the client's tar archive in the app's container. */
export async function serveWrite(stream: AppStream<"write">, services: StreamServices): Promise<undefined> {
  const { path } = stream.params;
  const { signal } = stream;
  const { access } = services;
  const { id } = await findContainer(stream, services);
  const found = await access.statPath(id, path, signal);
  const isDirectory = found?.isDirectory ?? false;
  const directory = isDirectory ? path : posix.dirname(path);
  if (!isDirectory && !(await access.statPath(id, directory, signal))?.isDirectory) {
    throw new EdgeError("AppPathNotFound", `There is no directory ${directory} in ${stream.app}.`);
  }
  stream.opened({ is_directory: isDirectory });
  const invalid = new AbortController();
  const archive = await filterArchive(stream.input(), (error) => invalid.abort(error));
  try {
    await access.writeArchive(id, directory, archive, AbortSignal.any([signal, invalid.signal]));
    // An engine may accept the part before the fault.
    invalid.signal.throwIfAborted();
  } catch (error) {
    throw pathError(directory, stream.app, error);
  } finally {
    archive.destroy();
  }
  return undefined;
}

function pathError(path: string, app: string, error: unknown): unknown {
  if (!(error instanceof EngineError)) return error;
  if (error.kind === "not_found") return new EdgeError("AppPathNotFound", `There is no ${path} in ${app}.`);
  return new EdgeError("DeviceFailed", `The container engine cannot copy ${path} of ${app}: ${error.message}`);
}
