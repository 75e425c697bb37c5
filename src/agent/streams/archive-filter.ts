import { posix } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Header, Pack } from "tar-stream";
import { boundHeaders } from "../../lib/bounded-tar-headers.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";

type HeaderArgument = Parameters<Pack["entry"]>[0];

/** PATH_MAX of Linux. */
const MAX_PATH_LENGTH = 4096;

/** Permission bits that are kept: neither setuid nor setgid. */
const PERMISSIONS = 0o777;

/**
 * Returns a client's tar archive with only what may be copied into an app: files, directories and symbolic links, owned by
 * root. The engine unpacks an archive with its own rights, which are more than the app's: it would make device files, set
 * the user of a program and give it capabilities (extended attributes), also where the policy keeps the app from it.
 *
 * @param onError called with what is wrong with the archive, once; it ends before that
 */
export async function filterArchive(
  archive: AsyncIterable<Uint8Array>,
  onError: (error: unknown) => void,
): Promise<Readable> {
  // Loaded with the first copy only.
  const { extract, pack } = await import("tar-stream");
  const entries = boundHeaders(extract());
  const filtered = pack();
  const pass = async (): Promise<void> => {
    for await (const entry of entries) {
      const header = toHeader(entry.header);
      const sink = filtered.entry(header);
      // Entries of other types have no content.
      if (header.type === "file") await pipeline(entry, sink);
    }
    filtered.finalize();
  };
  let hasFailed = false;
  const fail = (error: unknown): void => {
    // Each of the two pipelines fails with the other.
    if (hasFailed) return;
    hasFailed = true;
    onError(error instanceof EdgeError ? error : toInvalid(error));
    entries.destroy();
    filtered.destroy();
  };
  pipeline(Readable.from(archive, { objectMode: false }), entries).catch(fail);
  pass().catch(fail);
  return Readable.from(filtered, { objectMode: false });
}

function toHeader({ name, type, size, mode, mtime, linkname }: Header): HeaderArgument {
  // The kernel takes no longer paths, and tar-stream looks through a long name once for each slash.
  if (Math.max(name.length, linkname?.length ?? 0) > MAX_PATH_LENGTH)
    throw new EdgeError("InvalidRequest", `The archive has a path of more than ${MAX_PATH_LENGTH} characters.`);
  if (posix.isAbsolute(name) || /(?:^|\/)\.\.(?:\/|$)/.test(name) || name.includes("\0")) {
    throw new EdgeError("InvalidRequest", "The archive has a path that leads out of the place it is copied to.");
  }
  const common = { name, mode: (mode ?? 0) & PERMISSIONS, uid: 0, gid: 0, ...(mtime && { mtime }) };
  if (type === "file" || type === "contiguous-file") return { ...common, type: "file", size: size ?? 0 };
  if (type === "directory") return { ...common, type };
  if (type === "symlink") return { ...common, type, linkname: linkname ?? "" };
  throw new EdgeError(
    "InvalidRequest",
    "The archive has something else than files, directories and symbolic links, which cannot be copied into an app.",
  );
}

function toInvalid(error: unknown): unknown {
  if (error instanceof DOMException) return error;
  return new EdgeError("InvalidRequest", "The archive is not valid.", undefined, { cause: error });
}
