import { chmodSync, lstatSync, mkdirSync, type Stats } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { type ArchiveHeader, DirectoryArchiveReader, foldersOf } from "../../lib/directory-archive.ts";

/* The files of a directory that comes with an app, unpacked from its archive chunk by chunk. */

/** The user of the app is not known, and the files are the agent's. */
const READABLE = 0o444;

/** As many files are flushed at once, and so many bytes. */
const BATCH = 64;
const BATCH_BYTES = 4 * 1024 * 1024;

/** Files that are flushed together, as the file system does it best. */
export class FlushedFiles implements AsyncDisposable {
  #written: FileHandle[] = [];
  #bytes = 0;
  #current: FileHandle | undefined;

  /** Begins a file, which must not be there. */
  async begin(path: string, mode: number): Promise<void> {
    await this.#finish();
    this.#current = await open(path, "wx", 0o600);
    // Not limited by the umask.
    await this.#current.chmod(mode);
  }

  /** Adds bytes to the file that was begun last. */
  async add(bytes: Uint8Array): Promise<void> {
    await this.#current?.writeFile(bytes);
    this.#bytes += bytes.length;
  }

  /** All files are on disk when this resolves. */
  async flush(): Promise<void> {
    if (this.#current) this.#written.push(this.#current);
    this.#current = undefined;
    this.#bytes = 0;
    await Promise.all(this.#written.map((file) => file.sync()));
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const open_ = [...this.#written, ...(this.#current ? [this.#current] : [])];
    this.#written = [];
    this.#current = undefined;
    await Promise.all(open_.map((file) => file.close()));
  }

  async #finish(): Promise<void> {
    if (this.#current) this.#written.push(this.#current);
    this.#current = undefined;
    if (this.#written.length >= BATCH || this.#bytes >= BATCH_BYTES) await this.flush();
  }
}

/** Unpacks an archive into a new directory, which is this user's and which all users in the app may look into. On disk when this resolves. */
export async function unpackArchive(directory: string, archive: AsyncIterable<Uint8Array>): Promise<void> {
  const reader = new DirectoryArchiveReader();
  const folders = new Set<string>();
  const makeFolder = (path: string): void => {
    if (folders.has(path)) return;
    folders.add(path);
    mkdirSync(join(directory, path), { recursive: true });
    // Not limited by the umask.
    chmodSync(join(directory, path), 0o755);
  };
  makeFolder("");
  await using files = new FlushedFiles();
  for await (const chunk of archive) {
    for (const part of reader.read(chunk)) {
      if (part instanceof Uint8Array) {
        await files.add(part);
        continue;
      }
      for (const folder of foldersOf(part.path)) makeFolder(folder);
      if (part.isFolder) makeFolder(part.path);
      else await files.begin(join(directory, part.path), part.mode | READABLE);
    }
  }
  reader.end();
  await files.flush();
  for (const folder of folders) await syncDirectory(join(directory, folder));
}

/** Flushes the entries of a directory to stable storage. */
export async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, "r");
  await directory.sync();
}

/** Whether a directory has what its archive has. Rejects with the errors of the archive. */
export async function isUnpacked(directory: string, archive: AsyncIterable<Uint8Array>): Promise<boolean> {
  const reader = new DirectoryArchiveReader();
  await using file = new ComparedFile();
  for await (const chunk of archive) {
    for (const part of reader.read(chunk)) {
      const isSame = part instanceof Uint8Array ? await file.continues(part) : await isEntry(directory, part, file);
      if (!isSame) return false;
    }
  }
  reader.end();
  return true;
}

async function isEntry(directory: string, { path, mode, isFolder, size }: ArchiveHeader, file: ComparedFile) {
  const found = statIfAny(join(directory, path));
  if (isFolder) return found?.isDirectory() === true;
  const isAlike = found?.isFile() === true && found.size === size && (found.mode & 0o7777) === (mode | READABLE);
  return isAlike && (await file.begin(join(directory, path)));
}

/** A file that is compared with bytes as they come. */
export class ComparedFile implements AsyncDisposable {
  #file: FileHandle | undefined;

  /** Begins with a file. Returns whether it can be read. */
  async begin(path: string): Promise<boolean> {
    await this[Symbol.asyncDispose]();
    // One that is missing or cannot be read differs, and is written anew, which says what is wrong with the disk.
    this.#file = await open(path, "r").catch(() => undefined);
    return this.#file !== undefined;
  }

  /** Whether the file goes on with these bytes. */
  async continues(bytes: Uint8Array): Promise<boolean> {
    const buffer = Buffer.allocUnsafe(bytes.length);
    for (let at = 0; at < bytes.length;) {
      const { bytesRead = 0 } = (await this.#file?.read(buffer, at, bytes.length - at)) ?? {};
      if (bytesRead === 0) return false;
      at += bytesRead;
    }
    return Buffer.compare(buffer, bytes) === 0;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file?.close();
    this.#file = undefined;
  }
}

export function statIfAny(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}
