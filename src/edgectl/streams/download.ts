import { constants } from "node:fs";
import { lstat, mkdir, open, stat } from "node:fs/promises";
import { basename, dirname, join, posix } from "node:path";
import { Readable, type Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { extract, type Header } from "tar-stream";
import { boundHeaders } from "../../lib/bounded-tar-headers.ts";
import { untilDrained } from "../../lib/until-drained.ts";
import { EXIT, Failure, usageFailure } from "../failure.ts";
import type { ClientStream } from "./client-stream.ts";
import type { StreamConnection } from "./connection.ts";

/** A file or another thing in an archive, and its content. */
type Entry = Readable & { readonly header: Header };

/** What was copied. */
export interface CopyResult {
  files: number;
  bytes: number;
  /** Links, devices and other things that are not copied. */
  skipped: number;
}

/** An existing link is not followed: it may lead anywhere. */
const OPEN_FLAGS = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC | constants.O_NOFOLLOW;

/** Copies a file or directory of the app to this machine; `to` may be a directory, or the new name in one. */
export async function download(connection: StreamConnection, path: string, to: string): Promise<CopyResult> {
  // A path that does not exist becomes a file's name.
  const isDirectory = (await stat(to).catch(() => undefined))?.isDirectory() ?? false;
  if (!isDirectory && !(await stat(dirname(to)).catch(() => undefined))?.isDirectory()) {
    throw usageFailure(`There is no directory ${dirname(to)} on this machine.`);
  }
  // Normalized: of `/srv/..`, the last part would lead out of the directory.
  const target = isDirectory ? join(to, basename(posix.normalize(path))) : to;
  const result = { files: 0, bytes: 0, skipped: 0 };
  const directories = new Set<string>();
  const enter = async (place: string): Promise<void> => {
    if (directories.has(place)) return;
    await makeDirectory(place);
    directories.add(place);
  };
  await readArchive(connection, path, async (entry) => {
    const { type, mode } = entry.header;
    const parts = partsOf(entry.header.name);
    const place = join(target, ...parts);
    // Also those that the archive does not name: one that is here already may be a link that leads anywhere.
    for (let depth = 0; depth < parts.length; depth++) await enter(join(target, ...parts.slice(0, depth)));
    if (type === "directory") return enter(place);
    if (type !== "file" && type !== "contiguous-file") {
      result.skipped++;
      return;
    }
    const file = await open(place, OPEN_FLAGS, (mode ?? 0o644) & 0o777);
    await pipeline(entry, file.createWriteStream());
    result.files++;
    result.bytes += entry.header.size ?? 0;
  });
  return result;
}

/** PATH_MAX of Linux. */
const MAX_PATH_LENGTH = 4096;

/** Writes the content of a file of the app to `output`. */
export async function print(connection: StreamConnection, path: string, output: Writable): Promise<void> {
  await readArchive(connection, path, async (entry) => {
    if (entry.header.type !== "file") {
      throw new Failure(`${path} is not a file, and cannot be written to standard output.`, { exitCode: EXIT.failed });
    }
    for await (const bytes of entry as AsyncIterable<Uint8Array>) {
      if (!output.write(bytes)) await untilDrained(output);
    }
  });
}

async function readArchive(
  connection: StreamConnection,
  path: string,
  onEntry: (entry: Entry) => Promise<void>,
): Promise<void> {
  using stream = connection.open("read", { path });
  await stream.opened;
  const archive = boundHeaders(extract());
  const reading = pipeline(Readable.from(contentOf(stream), { objectMode: false }), archive);
  // Seen below: the loop ends with the same error.
  reading.catch(() => undefined);
  try {
    for await (const entry of archive) {
      const content = entry as unknown as Entry;
      await onEntry(content);
      content.resume();
    }
    await reading;
  } catch (error) {
    throw toCopyFailure(error);
  }
  const failure = connection.failureOf(await stream.ended);
  if (failure) throw failure;
}

async function* contentOf(stream: ClientStream): AsyncGenerator<Uint8Array> {
  for await (const { bytes } of stream.read()) yield bytes;
}

/** Returns the path within what is copied. The archive comes from the device: nothing in it may lead elsewhere. */
function partsOf(name: string): string[] {
  if (name.length > MAX_PATH_LENGTH) {
    throw new Failure(`The device has sent an archive with a path of more than ${MAX_PATH_LENGTH} characters.`, {
      exitCode: EXIT.failed,
    });
  }
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..") || name.includes("\0") || name.startsWith("/")) {
    throw new Failure("The device has sent an archive with a path outside of what is copied.", {
      exitCode: EXIT.failed,
    });
  }
  return parts.slice(1);
}

async function makeDirectory(place: string): Promise<void> {
  // Does not exist yet.
  const existing = await lstat(place).catch(() => undefined);
  if (existing?.isDirectory()) return;
  await mkdir(place);
}

function toCopyFailure(error: unknown): unknown {
  const { code, path, message } = error as NodeJS.ErrnoException;
  if (error instanceof Failure) return error;
  if (code === "ELOOP" || code === "EEXIST") {
    return new Failure(`${path ?? "A target"} on this machine is a link or of another kind, and is left alone.`, {
      exitCode: EXIT.failed,
    });
  }
  if (code !== undefined && path !== undefined)
    return new Failure(`Cannot write ${path}: ${code}.`, { exitCode: EXIT.failed });
  return new Failure(`The copy has failed: ${message}.`, { exitCode: EXIT.failed });
}
