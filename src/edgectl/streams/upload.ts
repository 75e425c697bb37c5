import { createReadStream, type Stats } from "node:fs";
import { lstat, readdir, readlink, stat } from "node:fs/promises";
import { basename, join, posix } from "node:path";
import { pipeline } from "node:stream/promises";
import { pack, type Pack } from "tar-stream";
import { EXIT, Failure, usageFailure } from "../failure.ts";
import type { StreamConnection } from "./connection.ts";
import type { CopyResult } from "./download.ts";

/** Copies a file or directory of this machine into the app; `path` may be a directory, or the new name in one. */
export async function upload(connection: StreamConnection, from: string, path: string): Promise<CopyResult> {
  // What cannot be looked at is reported as not found.
  const found = await stat(from).catch(() => undefined);
  if (!found?.isFile() && !found?.isDirectory()) throw usageFailure(`There is no file or directory ${from}.`);
  using stream = connection.open("write", { path });
  const { isDirectory } = await stream.opened;
  const archive = pack();
  const result = { files: 0, bytes: 0, skipped: 0 };
  const name = basename(isDirectory ? join(process.cwd(), from) : posix.normalize(path));
  const packing = add(archive, from, name, found, result).then(
    () => archive.finalize(),
    (error: Error) => archive.destroy(error),
  );
  try {
    for await (const bytes of archive as AsyncIterable<Uint8Array>) {
      // The device has ended it: what follows says why.
      if (!(await stream.write(bytes))) break;
    }
    // Otherwise it waits for a reader of the rest.
    if (!archive.destroyed) await packing;
  } catch (error) {
    throw new Failure(`Cannot read ${from}: ${(error as Error).message}.`, { exitCode: EXIT.failed });
  }
  await stream.end();
  const failure = connection.failureOf(await stream.ended);
  if (failure) throw failure;
  return result;
}

async function add(archive: Pack, local: string, name: string, facts: Stats, result: CopyResult): Promise<void> {
  // Of the container's root, as files that come with an image are.
  const header = { name, mode: facts.mode & 0o777, mtime: facts.mtime, uid: 0, gid: 0 };
  if (facts.isDirectory()) {
    archive.entry({ ...header, type: "directory" });
    for (const child of (await readdir(local)).toSorted()) {
      const place = join(local, child);
      await add(archive, place, `${name}/${child}`, await lstat(place), result);
    }
  } else if (facts.isFile()) {
    const entry = archive.entry({ ...header, type: "file", size: facts.size });
    // Not further than the size it had: the archive has it already.
    await pipeline(createReadStream(local, facts.size > 0 ? { end: facts.size - 1 } : {}), entry);
    result.files++;
    result.bytes += facts.size;
  } else if (facts.isSymbolicLink()) {
    archive.entry({ ...header, type: "symlink", linkname: await readlink(local) });
    result.files++;
  } else result.skipped++;
}
