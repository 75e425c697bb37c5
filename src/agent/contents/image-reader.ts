import { ExportedFiles } from "./exported-files.ts";
import type { Spool } from "./spool.ts";

export interface ImageReaderOptions {
  /** Opens the image's files. */
  readonly open: () => AsyncIterable<Uint8Array>;
  /** Keys of the contents that may be needed, by the numbers of the files; -1 for a file that is not. */
  readonly wanted: Int32Array;
  /** How often a content is still needed. */
  readonly usesLeft: (key: number) => number;
  readonly spool: Spool;
}

const NONE = -1;

/**
 * Reads files of one image in any order, while the engine exports it once in its own order. What comes before it is needed
 * waits in the spool: little, as two versions of an image have their files in nearly the same order. A content that several files
 * have need not wait from the first to the last of them.
 */
export class ImageReader implements AsyncDisposable {
  readonly #options: ImageReaderOptions;
  #files: ExportedFiles | undefined;
  /** How many files with a content are to come, by its key. */
  readonly #toCome: Uint32Array;
  /** How many files that may be needed are to come. */
  #left = 0;
  /** Key of the file that was gone to, if its content is to be read or kept. */
  #found = NONE;

  constructor(options: ImageReaderOptions) {
    this.#options = options;
    this.#toCome = new Uint32Array(options.wanted.reduce((most, key) => Math.max(most, key), NONE) + 1);
    for (const key of options.wanted) {
      if (key === NONE) continue;
      this.#toCome[key] = (this.#toCome[key] as number) + 1;
      this.#left++;
    }
  }

  /** Whether another file with this content is to come. */
  comesAgain(key: number): boolean {
    return (this.#toCome[key] ?? 0) > 0;
  }

  /**
   * Reads on to a content that is not in the spool, and returns it if it is at hand; it is good until the next call. A content
   * that is needed again is in the spool then.
   */
  wholeNow(key: number): Uint8Array | undefined {
    const files = this.#opened();
    for (;;) {
      if (this.#found === NONE && !this.#goOnNow(files, key)) return undefined;
      if (this.#found === key && this.#options.usesLeft(key) <= 1) {
        const whole = files.wholeNow();
        if (whole) this.#found = NONE;
        return whole;
      }
      const found = this.#found;
      if (!this.#keepNow(files)) return undefined;
      if (found === key) return this.#options.spool.now(key);
    }
  }

  /**
   * The same, waiting for what is not at hand. Resolves to `undefined` if the content is in the spool's file. Rejects with the
   * engine's error, or if the image does not have it.
   */
  async whole(key: number): Promise<Uint8Array | undefined> {
    const files = this.#opened();
    const { spool, usesLeft } = this.#options;
    while (!spool.has(key)) {
      if (this.#found === NONE && !(await this.#goOn(files, key))) continue;
      if (this.#found === key && usesLeft(key) <= 1) {
        const whole = await files.whole();
        this.#found = NONE;
        return whole;
      }
      await this.#keep(files);
    }
    return spool.now(key);
  }

  /**
   * Reads on to the content. Resolves to its pieces as they come, to be read before the next call, or to `undefined` if the
   * content is in the spool. Rejects as `whole`.
   */
  async pieces(key: number): Promise<AsyncIterable<Uint8Array> | undefined> {
    const files = this.#opened();
    while (!this.#options.spool.has(key)) {
      if (this.#found === NONE && !(await this.#goOn(files, key))) continue;
      if (this.#found === key && this.#options.usesLeft(key) <= 1) {
        this.#found = NONE;
        return files.pieces();
      }
      await this.#keep(files);
    }
    return undefined;
  }

  /** Reads on until the content is in the spool. Rejects with the engine's error, or if the image does not have it. */
  async readTo(key: number): Promise<void> {
    const files = this.#opened();
    while (!this.#options.spool.has(key)) {
      if (this.#found === NONE && !(await this.#goOn(files, key))) continue;
      await this.#keep(files);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#files?.[Symbol.asyncDispose]();
  }

  #opened(): ExportedFiles {
    return (this.#files ??= new ExportedFiles(this.#options.open()));
  }

  /** Goes to the next file that is to be read or kept. Returns whether that was at hand. */
  #goOnNow(files: ExportedFiles, key: number): boolean {
    while (this.#left > 0 && files.nextNow() === true) if (this.#take(files.number, key)) return true;
    return false;
  }

  /** Goes to the next file. Resolves to whether it is to be read or kept. */
  async #goOn(files: ExportedFiles, key: number): Promise<boolean> {
    if (this.#left === 0 || !(files.nextNow() ?? (await files.next()))) {
      throw new Error("the image does not have a content that it had before");
    }
    return this.#take(files.number, key);
  }

  /** Returns whether the file that was gone to is to be read or kept. */
  #take(number: number, key: number): boolean {
    const { wanted, spool, usesLeft } = this.#options;
    const found = wanted[number] ?? NONE;
    if (found === NONE) return false;
    this.#left--;
    this.#toCome[found] = (this.#toCome[found] as number) - 1;
    if (found !== key && (spool.has(found) || usesLeft(found) === 0)) return false;
    this.#found = found;
    return true;
  }

  /** Keeps the content of the file in memory. Returns whether there was room, and the content was at hand. */
  #keepNow(files: ExportedFiles): boolean {
    const { spool } = this.#options;
    const whole = spool.hasRoom(files.size) ? files.wholeNow() : undefined;
    if (!whole) return false;
    spool.keep(this.#found, whole);
    this.#found = NONE;
    return true;
  }

  async #keep(files: ExportedFiles): Promise<void> {
    const { spool } = this.#options;
    if (this.#keepNow(files)) return;
    if (spool.hasRoom(files.size)) spool.keep(this.#found, await files.whole());
    else await spool.write(this.#found, files.pieces());
    this.#found = NONE;
  }
}
