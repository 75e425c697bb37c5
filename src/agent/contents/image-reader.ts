import { exportedFiles, type ExportedFile } from "./exported-files.ts";
import type { Spool } from "./spool.ts";

export interface ImageReaderOptions {
  /** Opens the image's files. */
  readonly open: () => AsyncIterable<Uint8Array>;
  /** Digests of the files that may be needed, by their numbers. */
  readonly wanted: ReadonlyMap<number, string>;
  /** Whether a content is still needed. */
  readonly isNeeded: (digest: string) => boolean;
  readonly spool: Spool;
}

/**
 * Reads files of one image in any order, while the engine exports it once in its own order. What comes before it is needed
 * waits in the spool: little, as two versions of an image have their files in nearly the same order. A content that several files
 * have need not wait from the first to the last of them.
 */
export class ImageReader implements AsyncDisposable {
  readonly #options: ImageReaderOptions;
  #files: AsyncGenerator<ExportedFile> | undefined;
  /** How many files with a content are to come. */
  readonly #toCome = new Map<string, number>();
  #left: number;

  constructor(options: ImageReaderOptions) {
    this.#options = options;
    this.#left = options.wanted.size;
    for (const digest of options.wanted.values()) this.#toCome.set(digest, (this.#toCome.get(digest) ?? 0) + 1);
  }

  /** Whether another file with this content is to come. */
  comesAgain(digest: string): boolean {
    return (this.#toCome.get(digest) ?? 0) > 0;
  }

  /** Reads on until the content is in the spool. Rejects with the engine's error, or if the image does not have it. */
  async readTo(digest: string): Promise<void> {
    const { spool, open, wanted, isNeeded } = this.#options;
    this.#files ??= exportedFiles(open());
    while (!spool.has(digest)) {
      const { done, value: file } = this.#left === 0 ? { done: true, value: undefined } : await this.#files.next();
      if (done === true || file === undefined) throw new Error("the image does not have a content that it had before");
      const found = wanted.get(file.number);
      if (found === undefined) continue;
      this.#left--;
      this.#toCome.set(found, (this.#toCome.get(found) ?? 0) - 1);
      if (!spool.has(found) && isNeeded(found)) await spool.add(found, file);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#files?.return(undefined);
  }
}
