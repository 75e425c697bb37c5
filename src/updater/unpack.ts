import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createZstdDecompress } from "node:zlib";
import { join } from "node:path";
import { ReleaseError } from "../lib/release/release-error.ts";
import type { Disk, NewFile } from "./disk.ts";

const BLOCK = 512;
const MAX_ENTRIES = 200;
/** Zeros behind the last entry. */
const MAX_TRAILING_BYTES = 64 * 1024;
const MAX_FILE_BYTES = 256 * 1024 * 1024;
const MAX_UNPACKED_BYTES = 512 * 1024 * 1024;
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
 * Unpacks a layer into a new folder, on stable storage when this resolves. Takes plain files and folders only, as
 * `npm run package` writes them (ustar); owners and permissions are this function's, not the archive's.
 *
 * @param layer tar, compressed with zstd @param maxBytes of all files together
 * @throws {ReleaseError}
 */
export async function unpack(layer: Uint8Array, folder: string, maxBytes: number, disk: Disk): Promise<void> {
  if (maxBytes > MAX_UNPACKED_BYTES)
    throw new ReleaseError("malformed", `the release has more than ${MAX_UNPACKED_BYTES} bytes`);
  disk.makeFolder(folder);
  const folders = [folder];
  let entries = 0;
  let left = maxBytes;
  const begin = ({ path, isFolder, mode, bytes }: Entry): NewFile | undefined => {
    if (++entries > MAX_ENTRIES) throw unsafe(`has more than ${MAX_ENTRIES} entries`);
    left -= bytes;
    if (left < 0) throw unsafe("has more bytes than it says");
    const target = join(folder, path);
    if (!isFolder) return disk.create(target, mode);
    disk.makeFolder(target);
    folders.push(target);
    return undefined;
  };
  try {
    await pipeline(Readable.from([layer]), createZstdDecompress(), (chunks) => readTar(chunks, begin));
  } catch (error) {
    if (error instanceof ReleaseError || isOfDisk(error)) throw error;
    throw new ReleaseError("unsafe_content", "the archive of the release cannot be unpacked", { cause: error });
  }
  for (const path of folders.toReversed()) disk.sync(path);
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
