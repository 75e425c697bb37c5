import { randomUUID } from "node:crypto";
import { type FileHandle, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ExportedFile } from "./exported-files.ts";

/** All contents in memory together. Larger ones go to the file at once. */
const MAX_MEMORY_BYTES = 4 * 1024 * 1024;
const READ_BYTES = 64 * 1024;

type Place = { readonly bytes: Buffer } | { readonly position: number; readonly size: number };

/**
 * Keeps contents until they are used, by their digests: small ones in memory, the others in a file without a name, which is
 * gone with the process whatever happens.
 */
export class Spool implements AsyncDisposable {
  readonly #directory: string;
  readonly #maxMemoryBytes: number;
  readonly #places = new Map<string, Place>();
  #bytesInMemory = 0;
  #countInFile = 0;
  #file: FileHandle | undefined;
  #end = 0;

  constructor(directory: string, maxMemoryBytes: number = MAX_MEMORY_BYTES) {
    this.#directory = directory;
    this.#maxMemoryBytes = maxMemoryBytes;
  }

  has(digest: string): boolean {
    return this.#places.has(digest);
  }

  /** Keeps a content. Rejects with the content's or the system's error. */
  async add(digest: string, { size, whole, pieces }: Pick<ExportedFile, "size" | "whole" | "pieces">): Promise<void> {
    if (this.#bytesInMemory + size <= this.#maxMemoryBytes) {
      // A copy: the bytes may be a small part of what came over the socket, all of which would stay in memory.
      const bytes = Buffer.from(await whole());
      this.#bytesInMemory += bytes.length;
      this.#places.set(digest, { bytes });
      return;
    }
    this.#file ??= await openUnnamed(this.#directory);
    const position = this.#end;
    for await (const chunk of pieces()) {
      await this.#file.write(chunk, 0, chunk.length, this.#end);
      this.#end += chunk.length;
    }
    this.#places.set(digest, { position, size: this.#end - position });
    this.#countInFile++;
  }

  /** Yields a content; nothing if it is not here. */
  async *read(digest: string): AsyncGenerator<Uint8Array> {
    const place = this.#places.get(digest);
    if (!place) return;
    if ("bytes" in place) return yield place.bytes;
    for (let at = 0; at < place.size; at += READ_BYTES) {
      const length = Math.min(READ_BYTES, place.size - at);
      const chunk = Buffer.allocUnsafe(length);
      await this.#file?.read(chunk, 0, length, place.position + at);
      yield chunk;
    }
  }

  /** Forgets a content. What is in the file takes space until all of it is forgotten. */
  async remove(digest: string): Promise<void> {
    const place = this.#places.get(digest);
    this.#places.delete(digest);
    if (place && "bytes" in place) this.#bytesInMemory -= place.bytes.length;
    if (!place || "bytes" in place || --this.#countInFile > 0) return;
    this.#end = 0;
    await this.#file?.truncate(0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#places.clear();
    await this.#file?.close();
    this.#file = undefined;
  }
}

async function openUnnamed(directory: string): Promise<FileHandle> {
  const path = join(directory, `${randomUUID()}.spool`);
  const file = await open(path, "wx+", 0o600);
  await rm(path);
  return file;
}
