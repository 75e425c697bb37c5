import { exportedFiles, type ExportedFile } from "./exported-files.ts";
import type { Spool } from "./spool.ts";

export interface ImageReaderOptions {
  /** Opens the image's files. */
  readonly open: () => AsyncIterable<Uint8Array>;
  /** Digests of the files that are needed, by their numbers. */
  readonly wanted: ReadonlyMap<number, string>;
  readonly spool: Spool;
}

/**
 * Reads files of one image in any order, while the engine exports it once in its own order. What comes before it is needed
 * waits in the spool: little, as two versions of an image have their files in nearly the same order.
 */
export class ImageReader implements AsyncDisposable {
  readonly #options: ImageReaderOptions;
  #files: AsyncGenerator<ExportedFile> | undefined;
  #left: number;

  constructor(options: ImageReaderOptions) {
    this.#options = options;
    this.#left = options.wanted.size;
  }

  /** Reads on until the content is in the spool. Rejects with the engine's error, or if the image does not have it. */
  async readTo(digest: string): Promise<void> {
    const { spool, open, wanted } = this.#options;
    this.#files ??= exportedFiles(open());
    while (!spool.has(digest)) {
      const { done, value: file } = this.#left === 0 ? { done: true, value: undefined } : await this.#files.next();
      if (done === true || file === undefined) throw new Error("the image does not have a content that it had before");
      const found = wanted.get(file.number);
      if (found === undefined) continue;
      this.#left--;
      if (!spool.has(found)) await spool.add(found, file);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#files?.return(undefined);
  }
}
