import { createHash, type Hash } from "node:crypto";
import { closeSync, openSync, readSync, statSync } from "node:fs";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import { join } from "node:path";
import type { HeldLayer, LayerFile, LayerRecord } from "../lib/release/held-layers.ts";
import { DESCRIPTION, KEYS, LAYERS_FILE } from "../lib/release/paths.ts";
import type { ReleaseLayer } from "../lib/release/read-release.ts";
import { ReleaseError } from "../lib/release/release-error.ts";
import type { Disk, NewFile } from "./disk.ts";

const BLOCK = 512;
/** What the updater adds to a version by itself. */
const RESERVED: ReadonlySet<string> = new Set([DESCRIPTION, LAYERS_FILE, KEYS]);
const MAX_ENTRIES = 200;
/** Zeros behind the last entry. */
const MAX_TRAILING_BYTES = 64 * 1024;
const COPIED_AT_ONCE = 1024 * 1024;
const MAX_FILE_BYTES = 256 * 1024 * 1024;
/** Path of a file: no empty part, none that begins with a dot, and nothing that a shell or terminal would take for more. */
const SAFE_PATH = /^[\w+][\w.+-]*(?:\/[\w+][\w.+-]*){0,4}$/;
const TYPE_FILE = "0";
const TYPE_FOLDER = "5";

interface Entry {
  readonly path: string;
  readonly isFolder: boolean;
  readonly mode: number;
  readonly bytes: number;
}

/**
 * Unpacks a layer into a folder, on stable storage when this resolves. Takes plain files and folders only, as
 * `npm run package` writes them (ustar); owners and permissions are this function's, not the archive's.
 *
 * @param archive tar, compressed with zstd @param layer what it is to be
 * @throws {ReleaseError}
 */
export async function unpack(
  archive: Uint8Array,
  { diffId, unpackedBytes }: Pick<ReleaseLayer, "diffId" | "unpackedBytes">,
  folder: string,
  disk: Disk,
): Promise<LayerRecord> {
  const folders = [folder];
  const files: LayerFile[] = [];
  let entries = 0;
  let left = unpackedBytes;
  const begin = ({ path, isFolder, mode, bytes }: Entry): NewFile | undefined => {
    if (++entries > MAX_ENTRIES) throw unsafe(`has more than ${MAX_ENTRIES} entries`);
    left -= bytes;
    if (left < 0) throw unsafe("has more bytes than it says");
    if (RESERVED.has(path.split("/", 1)[0] ?? "")) throw unsafe("has a file that the updater writes");
    const target = join(folder, path);
    if (!isFolder) return recorded(disk.create(target, mode), (digest) => files.push({ path, digest }));
    disk.makeFolder(target);
    folders.push(target);
    return undefined;
  };
  const hash = createHash("sha256");
  try {
    await pipeline(Readable.from([archive]), createZstdDecompress(), async (chunks: AsyncIterable<Uint8Array>) => {
      await readTar(hashed(chunks, hash), begin);
    });
  } catch (error) {
    if (error instanceof ReleaseError || isOfDisk(error)) throw error;
    throw new ReleaseError("unsafe_content", "the archive of the release cannot be unpacked", { cause: error });
  }
  if (`sha256:${hash.digest("hex")}` !== diffId)
    throw new ReleaseError("digest_mismatch", "an archive of the release is not what its configuration says");
  for (const path of folders.toReversed()) disk.sync(path);
  return { diffId, files };
}

/**
 * Puts the files of a layer that another version has into a folder, on stable storage on return.
 *
 * @param isShared whether both versions are to have the same files, if the file system can
 */
export function takeOver(
  { folder: source, diffId, files }: HeldLayer,
  folder: string,
  { disk, isShared }: { readonly disk: Disk; readonly isShared: boolean },
): LayerRecord {
  try {
    linkOrCopy(source, files, folder, { disk, isShared });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    throw unsafe("has a name that another layer has, too");
  }
  return { diffId, files };
}

function linkOrCopy(
  source: string,
  files: readonly LayerFile[],
  folder: string,
  { disk, isShared }: { readonly disk: Disk; readonly isShared: boolean },
): void {
  const folders = new Set([folder]);
  for (const { path } of files) {
    const parents = path.split("/").slice(0, -1);
    for (let depth = 1; depth <= parents.length; depth++) {
      const parent = join(folder, ...parents.slice(0, depth));
      if (!folders.has(parent)) disk.makeFolder(parent);
      folders.add(parent);
    }
    const [from, to] = [join(source, path), join(folder, path)];
    if (!isShared || !disk.share(from, to)) copy(from, to, disk);
  }
  for (const path of [...folders].toReversed()) disk.sync(path);
}

function copy(from: string, to: string, disk: Disk): void {
  const isExecutable = (statSync(from).mode & 0o100) !== 0;
  const source = openSync(from, "r");
  try {
    using file = disk.create(to, isExecutable ? 0o755 : 0o644);
    const buffer = Buffer.allocUnsafe(COPIED_AT_ONCE);
    for (let count = readSync(source, buffer); count > 0; count = readSync(source, buffer))
      file.write(buffer.subarray(0, count));
    file.sync();
  } finally {
    closeSync(source);
  }
}

function recorded(file: NewFile, record: (digest: string) => void): NewFile {
  const hash = createHash("sha256");
  return {
    write(bytes) {
      hash.update(bytes);
      file.write(bytes);
    },
    sync() {
      file.sync();
      record(`sha256:${hash.digest("hex")}`);
    },
    [Symbol.dispose]: () => file[Symbol.dispose](),
  };
}

async function* hashed(chunks: AsyncIterable<Uint8Array>, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const chunk of chunks) {
    hash.update(chunk);
    yield chunk;
  }
}

/** Errors of the decompressor have no system call. A name that is there twice is the archive's fault, too. */
function isOfDisk(error: unknown): boolean {
  const { syscall, code } = error as NodeJS.ErrnoException;
  return syscall !== undefined && code !== "EEXIST" && code !== "ENOENT" && code !== "ENOTDIR";
}

/** Reads the entries of an archive, and writes their contents as they come. */
async function readTar(chunks: AsyncIterable<Uint8Array>, begin: (entry: Entry) => NewFile | undefined): Promise<void> {
  let header = Buffer.alloc(0);
  let file: NewFile | undefined;
  /** Bytes of the entry that are still to come, and of the padding behind it. */
  let [content, padding] = [0, 0];
  let hasEnded = false;
  let trailing = 0;
  const finish = (): void => {
    file?.sync();
    file?.[Symbol.dispose]();
    file = undefined;
  };
  try {
    for await (let rest of chunks) {
      while (rest.length > 0) {
        if (hasEnded) {
          trailing += rest.length;
          if (trailing > MAX_TRAILING_BYTES || rest.some((byte) => byte !== 0)) throw unsafe("goes on behind its end");
          break;
        }
        const length = Math.min(rest.length, content || padding || BLOCK - header.length);
        const part = rest.subarray(0, length);
        rest = rest.subarray(length);
        if (content > 0) {
          file?.write(part);
          content -= length;
          if (content === 0) finish();
        } else if (padding > 0) padding -= length;
        else {
          header = Buffer.concat([header, part]);
          if (header.length < BLOCK) continue;
          if (header.every((byte) => byte === 0)) hasEnded = true;
          else {
            const entry = parseHeader(header);
            file = begin(entry);
            content = entry.bytes;
            padding = (BLOCK - (content % BLOCK)) % BLOCK;
            if (content === 0) finish();
          }
          header = Buffer.alloc(0);
        }
      }
    }
  } finally {
    file?.[Symbol.dispose]();
  }
  if (!hasEnded) throw unsafe("is cut off");
}

function parseHeader(block: Buffer): Entry {
  const text = (from: number, length: number): string =>
    block.toString("latin1", from, from + length).replace(/\0[\s\S]*$/, "");
  const octal = (from: number, length: number): number => {
    const digits = text(from, length).trim();
    if (!/^[0-7]{1,11}$/.test(digits)) throw unsafe("has a header that is not valid");
    return Number.parseInt(digits, 8);
  };
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 0x20 : byte), 0);
  if (text(257, 5) !== "ustar" || octal(148, 8) !== sum) throw unsafe("has a header that is not valid");
  const type = text(156, 1) || TYPE_FILE;
  const isFolder = type === TYPE_FOLDER;
  const path = text(0, 100).replace(isFolder ? /\/$/ : /$^/, "");
  if (type !== TYPE_FILE && !isFolder) throw unsafe("has an entry that is neither a file nor a folder");
  if (text(345, 155) !== "" || !SAFE_PATH.test(path)) throw unsafe("has an entry with an unexpected path");
  const mode = octal(100, 8);
  if ((mode & ~0o777) !== 0) throw unsafe("has an entry with special permissions");
  const bytes = octal(124, 12);
  if (bytes > MAX_FILE_BYTES || (isFolder && bytes > 0)) throw unsafe("has an entry that is too large");
  return { path, isFolder, mode: (mode & 0o100) !== 0 ? 0o755 : 0o644, bytes };
}

function unsafe(what: string): ReleaseError {
  return new ReleaseError("unsafe_content", `the archive of the release ${what}`);
}
