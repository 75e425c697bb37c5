/*
 * The files of a directory as a tar archive (ustar): plain files and folders, nothing else, in the order of their paths and
 * without times, so that the same files are the same bytes.
 */

const BLOCK = 512;
const ZEROS = Buffer.alloc(64 * 1024);
const MAX_NAME_BYTES = 100;
const MAX_PREFIX_BYTES = 155;

/** Files and folders of one directory. */
export const MAX_DIRECTORY_ENTRIES = 4_096;

/** Parts of a path in it. */
const MAX_DEPTH = 16;

/** Maximum length of a path in it. */
const MAX_DIRECTORY_PATH_BYTES = 255;

export interface DirectoryEntry {
  /** Relative to the directory, with `/` between its parts. */
  readonly path: string;
  /** Permissions of a file, such as `0o444`. */
  readonly mode: number;
  /** Absent for a folder. */
  readonly content?: Uint8Array;
}

/** What is wrong with an archive, as the end of a sentence about it. */
export class DirectoryArchiveError extends Error {
  override readonly name = "DirectoryArchiveError";
}

/** A file or folder that is read while the archive is written. */
export interface ReadEntry extends Omit<DirectoryEntry, "content"> {
  /** Absent for a folder. */
  readonly content?: { readonly size: number; readonly read: () => Iterable<Uint8Array> };
}

/** Writes an archive. Precondition: `isArchivePath` holds for each path. */
export function writeDirectoryArchive(entries: readonly DirectoryEntry[]): Buffer {
  const read = entries.map(({ path, mode, content }): ReadEntry => {
    return { path, mode, ...(content && { content: { size: content.length, read: () => [content] } }) };
  });
  return Buffer.concat([...archiveChunks(read)]);
}

/** Writes an archive chunk by chunk. Preconditions: `isArchivePath` holds for each path, and each content has its size. */
export function* archiveChunks(entries: readonly ReadEntry[]): Generator<Uint8Array> {
  for (const entry of entries.toSorted((one, other) => (one.path < other.path ? -1 : 1))) {
    const { content } = entry;
    yield writeHeader(entry, content);
    if (!content) continue;
    yield* content.read();
    yield Buffer.alloc(paddingOf(content.size));
  }
  yield Buffer.alloc(2 * BLOCK);
}

/** Returns the size of an archive. @param sizes of its files; `undefined` for a folder */
export function archiveSize(sizes: readonly (number | undefined)[]): number {
  return sizes.reduce<number>((sum, size = 0) => sum + BLOCK + size + paddingOf(size), 2 * BLOCK);
}

/** Whether an archive can have the path. */
export function isArchivePath(path: string): boolean {
  return isPlainPath(path) && splitPath(path) !== undefined;
}

/**
 * Reads an archive from outside.
 *
 * @throws {DirectoryArchiveError} for anything but plain files and folders at paths inside of the directory, each once
 */
export function readDirectoryArchive(archive: Uint8Array): DirectoryEntry[] {
  const reader = new DirectoryArchiveReader();
  const entries: { path: string; mode: number; content?: Uint8Array }[] = [];
  for (const part of reader.read(archive)) {
    const last = entries.at(-1);
    if (!(part instanceof Uint8Array))
      entries.push({ path: part.path, mode: part.mode, ...(!part.isFolder && { content: new Uint8Array() }) });
    // The bytes of a file are in one piece here.
    else if (last) last.content = part;
  }
  reader.end();
  return entries;
}

/** A file or folder in an archive, before its bytes. */
export interface ArchiveHeader {
  readonly path: string;
  readonly mode: number;
  readonly isFolder: boolean;
  /** Bytes that follow. */
  readonly size: number;
}

/**
 * Reads an archive from outside as it arrives. Whether it is one, is only known at its end: then no file was inside of another.
 * Errors: `DirectoryArchiveError` for anything but plain files and folders at paths inside of the directory, each once.
 */
export class DirectoryArchiveReader {
  /** Whether each is a folder, by path. */
  readonly #entries = new Map<string, boolean>();
  /** The beginning of a header. */
  #begun = Buffer.alloc(0);
  #contentLeft = 0;
  #paddingLeft = 0;
  #isOver = false;

  /** Returns the headers in the next chunk, and the bytes of the file whose header was the last one, as views of the chunk. */
  *read(chunk: Uint8Array): Generator<ArchiveHeader | Buffer> {
    let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    while (bytes.length > 0) {
      if (this.#isOver) {
        if (!isZero(bytes)) throw new DirectoryArchiveError("goes on behind its end");
        return;
      }
      if (this.#contentLeft > 0) {
        const content = bytes.subarray(0, this.#contentLeft);
        this.#contentLeft -= content.length;
        bytes = bytes.subarray(content.length);
        yield content;
      } else if (this.#paddingLeft > 0) {
        const skipped = Math.min(this.#paddingLeft, bytes.length);
        this.#paddingLeft -= skipped;
        bytes = bytes.subarray(skipped);
      } else {
        const missing = BLOCK - this.#begun.length;
        const header = Buffer.concat([this.#begun, bytes.subarray(0, missing)]);
        bytes = bytes.subarray(missing);
        this.#begun = header.length < BLOCK ? header : Buffer.alloc(0);
        if (header.length < BLOCK) return;
        this.#isOver = isZero(header);
        const entry = this.#isOver ? undefined : this.#begin(header);
        if (entry) yield entry;
      }
    }
  }

  /** Must be called behind the last chunk. */
  end(): void {
    if (!this.#isOver) throw new DirectoryArchiveError("is cut off");
    const folders = new Set([...this.#entries.keys()].flatMap(foldersOf));
    for (const folder of folders) {
      const isFolder = this.#entries.get(folder);
      if (isFolder === false) throw new DirectoryArchiveError("has a file inside of a file");
      // Not each folder has an entry of its own.
      if (isFolder) folders.delete(folder);
    }
    if (this.#entries.size + folders.size > MAX_DIRECTORY_ENTRIES) throw new DirectoryArchiveError(TOO_MANY);
  }

  /** `undefined`: the directory itself, which tar names too. */
  #begin(block: Buffer): ArchiveHeader | undefined {
    const header = readHeader(block);
    const { path, isFolder, size } = header;
    if (this.#entries.has(path)) throw new DirectoryArchiveError("has a path twice");
    if (this.#entries.size === MAX_DIRECTORY_ENTRIES) throw new DirectoryArchiveError(TOO_MANY);
    this.#contentLeft = size;
    this.#paddingLeft = paddingOf(size);
    if (path === "") return undefined;
    this.#entries.set(path, isFolder);
    return header;
  }
}

const TOO_MANY = `has more than ${MAX_DIRECTORY_ENTRIES} files and folders`;

/** Compared by native code: the agent runs without a compiler. */
function isZero(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += ZEROS.length) {
    const part = bytes.subarray(at, at + ZEROS.length);
    if (part.compare(ZEROS, 0, part.length) !== 0) return false;
  }
  return true;
}

/** The folders that a path is in, the outermost first: `a/b/c` is in `a` and `a/b`. */
export function foldersOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, index) => parts.slice(0, index + 1).join("/"));
}

function readHeader(block: Buffer): ArchiveHeader {
  const type = String.fromCodePoint(block[156] ?? 0);
  // Without its sum, which takes an agent without a compiler seconds: the content is stored by its hash.
  if (block.toString("latin1", 257, 262) !== "ustar") throw new DirectoryArchiveError("is no tar archive");
  if (!["0", "\0", "5"].includes(type))
    throw new DirectoryArchiveError("has something else than plain files and folders");
  const isFolder = type === "5";
  const [prefix, name] = [readText(block, 345, MAX_PREFIX_BYTES), readText(block, 0, MAX_NAME_BYTES)];
  const whole = prefix === "" ? name : `${prefix}/${name}`;
  // As tar writes the paths of the directory that it is in.
  const inside = whole.replace(/^(?:\.\/)+/, "");
  const path = isFolder ? inside.replace(/\/$/, "") : inside;
  if (!(isFolder && path === "") && !isPlainPath(path))
    throw new DirectoryArchiveError("has a path that leads out of the directory, or is none");
  const [mode, size] = [readOctal(block, 100, 8), readOctal(block, 124, 12)];
  if (mode > 0o777) throw new DirectoryArchiveError("has a file with special permissions");
  if (isFolder && size > 0) throw new DirectoryArchiveError("has a folder with a content");
  return { path, mode, isFolder, size };
}

/** Relative, without empty parts, `.` and `..`, and without control characters. */
function isPlainPath(path: string): boolean {
  if (Buffer.byteLength(path) > MAX_DIRECTORY_PATH_BYTES || !path.isWellFormed() || path.includes("\u{FFFD}"))
    return false;
  const parts = path.split("/");
  if (parts.length > MAX_DEPTH || parts.some((part) => part === "" || part === "." || part === "..")) return false;
  return !/\p{Cc}/u.test(path);
}

/** The two fields of a header that have a path; `undefined` if it does not fit. */
function splitPath(path: string): readonly [prefix: string, name: string] | undefined {
  const splits = [
    ["", path] as const,
    ...foldersOf(path).map((folder) => [folder, path.slice(folder.length + 1)] as const),
  ];
  return splits.find(([prefix, name]) => {
    return Buffer.byteLength(prefix) <= MAX_PREFIX_BYTES && Buffer.byteLength(name) <= MAX_NAME_BYTES;
  });
}

function writeHeader({ path, mode }: Omit<DirectoryEntry, "content">, content: ReadEntry["content"]): Buffer {
  const block = Buffer.alloc(BLOCK);
  const [prefix, name] = splitPath(path) ?? ["", ""];
  block.write(name, 0);
  block.write(prefix, 345);
  writeOctal(block, 100, 8, mode);
  writeOctal(block, 108, 8, 0);
  writeOctal(block, 116, 8, 0);
  writeOctal(block, 124, 12, content?.size ?? 0);
  writeOctal(block, 136, 12, 0);
  block.write(content === undefined ? "5" : "0", 156);
  block.write("ustar\x0000", 257);
  writeOctal(block, 148, 8, checksumOf(block));
  return block;
}

function checksumOf(block: Buffer): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

function readText(block: Buffer, from: number, length: number): string {
  const field = block.subarray(from, from + length);
  const end = field.indexOf(0);
  return field.toString("utf8", 0, end === -1 ? length : end);
}

function readOctal(block: Buffer, from: number, length: number): number {
  const digits = readText(block, from, length).trim();
  if (!/^[0-7]{1,11}$/.test(digits)) throw new DirectoryArchiveError("is no tar archive");
  return Number.parseInt(digits, 8);
}

function writeOctal(block: Buffer, from: number, length: number, value: number): void {
  block.write(value.toString(8).padStart(length - 1, "0"), from);
}

function paddingOf(size: number): number {
  return (BLOCK - (size % BLOCK)) % BLOCK;
}
