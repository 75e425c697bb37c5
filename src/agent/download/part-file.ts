import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { toDiskError } from "./download-error.ts";

/**
 * Minimum distance of two syncs in bytes and in milliseconds; what arrives in between may be lost in a power cut. Each
 * sync writes some 16 KB of file system metadata, at this distance less than 2 % more flash wear, and delays other
 * writers to the disk, such as the engine unpacking the last layer.
 */
const SYNC_INTERVAL_BYTES = 1024 * 1024;
const SYNC_INTERVAL_MS = 1_000;

/** Opens the file of a part, created if missing, and recovers what it has. Rejects with a `DownloadError`. */
export async function openPart<T extends AsyncDisposable & { recover(): Promise<void> }>(
  directory: string,
  path: string,
  create: (file: FileHandle) => T,
): Promise<T> {
  try {
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    await using opened = new AsyncDisposableStack();
    const part = opened.use(create(file));
    await part.recover();
    // A handle that is collected as garbage without being closed ends the process.
    opened.move();
    return part;
  } catch (error) {
    throw toDiskError(error, directory);
  }
}

/** Brings a file that grows to stable storage, again and again. */
export class PacedSync {
  readonly #file: FileHandle;
  #unsynced = 0;
  #syncedAt = performance.now();
  #syncing: Promise<void> | undefined;

  constructor(file: FileHandle) {
    this.#file = file;
  }

  /** Counts bytes that were written, and syncs when that is due. */
  written(bytes: number): void {
    this.#unsynced += bytes;
    if (this.#unsynced >= SYNC_INTERVAL_BYTES && performance.now() - this.#syncedAt >= SYNC_INTERVAL_MS) this.#sync();
  }

  /** Resolves when no sync is going on. */
  async settled(): Promise<void> {
    await this.#syncing;
  }

  /** Runs in parallel to further writes: on a memory card a sync takes about a second. */
  #sync(): void {
    if (this.#syncing) return;
    this.#unsynced = 0;
    this.#syncedAt = performance.now();
    // A failure would show when reading: every byte is checked against a digest.
    this.#syncing = this.#file.datasync().catch(() => {});
    void this.#syncing.then(() => (this.#syncing = undefined));
  }
}

/** Writes all the buffers at a position of the file. Rejects with the system's error. */
export async function writeAll(file: FileHandle, buffers: readonly Buffer[], position: number): Promise<void> {
  let rest = [...buffers];
  let at = position;
  while (rest.length > 0) {
    const { bytesWritten } = await file.writev(rest, at);
    at += bytesWritten;
    rest = after(rest, bytesWritten);
  }
}

/** Returns the buffers without their first `count` bytes. */
function after(buffers: readonly Buffer[], count: number): Buffer[] {
  let skip = count;
  return buffers.flatMap((buffer) => {
    const rest = buffer.subarray(Math.min(skip, buffer.length));
    skip -= buffer.length - rest.length;
    return rest.length > 0 ? [rest] : [];
  });
}
