import { archiveChunks, archiveSize, type ReadEntry } from "../../lib/directory-archive.ts";
import type { AppFile } from "../../protocol/apps/app-files.ts";
import { MAX_UPLOAD_BYTES } from "../../protocol/apps/uploads.ts";
import { MAX_APP_FILES_BYTES, MAX_UPLOADED_FILES_BYTES } from "../../protocol/limits.ts";
import { packContent } from "../documents/large-content.ts";
import type { LocalFiles } from "../documents/local-files.ts";
import type { Value } from "../documents/value.ts";

/* Files and directories of this machine that no request takes: they are packed as they are read, and become uploads. */

/** What has more is packed as it is read. */
export const MAX = `${MAX_APP_FILES_BYTES / 1024 ** 2} MiB`;
export const TOO_MUCH = "Put the files into the image, or on the device, and mount them there by their absolute path.";

/** What a file gets beside its content. */
export interface FileSettings {
  readonly mode?: string | undefined;
  readonly owner?: string | undefined;
  readonly secret?: boolean | undefined;
}

/** A file of a directory that was not read yet. */
export interface ListedFile extends FileSettings {
  /** Relative to the directory. */
  readonly path: string;
  /** Its name here. */
  readonly file: string;
}

export const DEFAULT_MODE = "0444";

export function isLargeFile(name: string, local: LocalFiles): boolean {
  try {
    return local.kindOf(name) === "file" && local.sizeOf(name) > MAX_APP_FILES_BYTES;
  } catch {
    // Said where it is read.
    return false;
  }
}

export function packFile(value: Value, name: string, local: LocalFiles): Partial<AppFile> | undefined {
  const size = local.sizeOf(name);
  return packed(value, name, size, local, () => local.readChunks(name, size));
}

/** Packs what is too large for a request. `undefined`: it is too much even so, or cannot be read, which is said. */
function packed(
  value: Value,
  name: string,
  bytes: number,
  local: LocalFiles,
  read: () => Iterable<Uint8Array>,
): Partial<AppFile> | undefined {
  const much = `names ${name} with ${Math.ceil(bytes / 1024 ** 2)} MiB: ${atMost(MAX_UPLOADED_FILES_BYTES)} come with an app`;
  if (bytes > MAX_UPLOADED_FILES_BYTES) return value.refuse(`${much}.`, TOO_MUCH);
  try {
    const content = packContent(read);
    if (!content) return value.refuse(`${much}, and compressed ${atMost(MAX_UPLOAD_BYTES)}.`, TOO_MUCH);
    const { sha256, upload, source } = content;
    local.uploads.set(upload.sha256, source);
    return { sha256, upload };
  } catch (error) {
    return refuseUnreadable(value, name, error);
  }
}

function atMost(bytes: number): string {
  return `at most ${bytes / 1024 ** 2} MiB`;
}

/** Packs a directory as one archive. */
export function packDirectory(
  value: Value,
  name: string,
  files: readonly ListedFile[],
  local: LocalFiles,
): Partial<AppFile> | undefined {
  const own = files.find(({ owner }) => owner !== undefined);
  if (own) {
    return value.refuse(`mounts ${name} with more than ${MAX}, where others may not read ${own.path}.`, TOO_MUCH);
  }
  const entries: ReadEntry[] = [];
  for (const { path, file, mode = DEFAULT_MODE } of files) {
    const size = sizeOfAll(value, [file], local);
    if (size === undefined) return undefined;
    entries.push({ path, mode: Number.parseInt(mode, 8), content: { size, read: () => local.readChunks(file, size) } });
  }
  const size = archiveSize(entries.map(({ content }) => content?.size));
  const fields = packed(value, name, size, local, () => archiveChunks(entries));
  return fields && { directory: true, ...fields };
}

/** `undefined`: one of them has gone since the directory was read. */
export function sizeOfAll(value: Value, files: readonly string[], local: LocalFiles): number | undefined {
  let sum = 0;
  for (const file of files) {
    try {
      sum += local.sizeOf(file);
    } catch (error) {
      return refuseUnreadable(value, file, error);
    }
  }
  return sum;
}

export function refuseUnreadable(value: Value, name: string, error: unknown): undefined {
  const { code = "unknown reason" } = error as NodeJS.ErrnoException;
  return value.refuse(`names ${name}, which cannot be read (${code}).`);
}
