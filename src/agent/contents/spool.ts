import { randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";

/** All contents in memory together. Others go to the file at once. */
const MAX_MEMORY_BYTES = 4 * 1024 * 1024;
const READ_BYTES = 64 * 1024;

interface SpooledContent {
  readonly position: number;
  readonly size: number;
}

/**
 * Keeps contents until they are used, by keys: small ones in memory, the others in a file without a name, which is gone with
 * the process whatever happens.
 */
export class Spool implements AsyncDisposable {
  readonly #directory: string;
  readonly #maxMemoryBytes: number;
  readonly #inMemory = new Map<number, Buffer>();
  readonly #inFile = new Map<number, SpooledContent>();
  #bytesInMemory = 0;
  #file: FileHandle | undefined;
  #end = 0;

  constructor(directory: string, maxMemoryBytes: number = MAX_MEMORY_BYTES) {
    this.#directory = directory;
    this.#maxMemoryBytes = maxMemoryBytes;
  }

  has(key: number): boolean {
    return this.#inMemory.has(key) || this.#inFile.has(key);
  }

  /** Whether there is room in memory. */
  hasRoom(size: number): boolean {
    return this.#bytesInMemory + size <= this.#maxMemoryBytes;
  }

  /** Keeps a copy of a content in memory. */
  keep(key: number, bytes: Uint8Array): void {
    this.#bytesInMemory += bytes.length;
    this.#inMemory.set(key, Buffer.from(bytes));
  }

  /** Keeps a content in the file. Rejects with the content's or the system's error. */
  async write(key: number, pieces: AsyncIterable<Uint8Array>): Promise<void> {
    this.#file ??= await openUnnamed(this.#directory);
    const position = this.#end;
    for await (const piece of pieces) {
      await this.#file.write(piece, 0, piece.length, this.#end);
      this.#end += piece.length;
    }
    this.#inFile.set(key, { position, size: this.#end - position });
  }

  /** Returns a content that is in memory. */
  now(key: number): Uint8Array | undefined {
    return this.#inMemory.get(key);
  }

  /** Yields a content; nothing if it is not here. */
  async *read(key: number): AsyncGenerator<Uint8Array> {
    const bytes = this.#inMemory.get(key);
    if (bytes) yield bytes;
    const place = this.#inFile.get(key);
    if (!place) return;
    for (let at = 0; at < place.size; at += READ_BYTES) {
      const length = Math.min(READ_BYTES, place.size - at);
      const chunk = Buffer.allocUnsafe(length);
      await this.#file?.read(chunk, 0, length, place.position + at);
      yield chunk;
    }
  }

  /** Forgets a content. What is in the file takes space until all of it is forgotten: then there is a promise to wait for. */
  forget(key: number): Promise<void> | undefined {
    this.#bytesInMemory -= this.#inMemory.get(key)?.length ?? 0;
    this.#inMemory.delete(key);
    if (!this.#inFile.delete(key) || this.#inFile.size > 0) return undefined;
    this.#end = 0;
    return this.#file?.truncate(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#inMemory.clear();
    this.#inFile.clear();
    await this.#file?.close();
    this.#file = undefined;
  }
}

async function openUnnamed(directory: string): Promise<FileHandle> {
  const path = join(directory, `${randomUUID()}.spool`);
  await using opened = new AsyncDisposableStack();
  const file = opened.use(await open(path, "wx+", 0o600));
  await rm(path);
  opened.move();
  return file;
}
