/** What is read of an image for one passage through a layer. */
export interface Reading {
  /** Keys of the contents in the order in which the layer has them, repeated ones each time. */
  readonly needed: readonly number[];
  /** Keys of the contents by the numbers of the image's files; -1 for a file that is not needed. */
  readonly files: Int32Array;
  /** Bytes of the contents, by key. */
  readonly sizes: readonly number[];
}

/** What may wait in memory together, in bytes. More would wait in a file, and wear the flash. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** All contents that are read ahead. */
const MAX_AHEAD_BYTES = 2 * 1024 * 1024;
/** A content is read ahead if this many bytes would wait for it otherwise. */
const MAX_SKIPPED_BYTES = 512 * 1024;
const NONE = -1;

/**
 * Chooses the contents that are read ahead of the passage, by reading the image twice. A package that moves from the end of a tree
 * to its beginning, a few hundred kilobytes, would make nearly the whole image wait until the layer comes to it. What is read ahead
 * waits until its last use, wherever else the image has it.
 *
 * @returns keys; none if little waits anyway, or if it would not help
 */
export function chooseReadAhead(reading: Reading): readonly number[] {
  if (new Passage(reading, false).run().waitingBytes <= MAX_WAITING_BYTES) return [];
  const { waitingBytes, ahead } = new Passage(reading, true).run();
  return waitingBytes <= MAX_WAITING_BYTES ? ahead : [];
}

/** Follows what waits while the image is read in its order, and the contents are needed in that of the layer. */
class Passage {
  readonly #reading: Reading;
  readonly #mayReadAhead: boolean;
  /** By key: how often it is still needed, whether it waits, whether it was read ahead, and the first file that has it and was not read. */
  readonly #left: Uint32Array;
  readonly #waits: Uint8Array;
  readonly #isAhead: Uint8Array;
  readonly #nextFile: Int32Array;
  /** By file: the next one with the same content. */
  readonly #sameAfter: Int32Array;
  /** By file: bytes that would wait if all from `#skippedFrom` to it were read now. Known up to `#skippedTo`. */
  readonly #skipped: Float64Array;
  #skippedFrom = NONE;
  #skippedTo = NONE;
  #at = 0;
  #waiting = 0;
  #mostWaiting = 0;
  readonly #ahead: number[] = [];
  #aheadBytes = 0;

  constructor(reading: Reading, mayReadAhead: boolean) {
    const { needed, files, sizes } = reading;
    this.#reading = reading;
    this.#mayReadAhead = mayReadAhead;
    this.#left = new Uint32Array(sizes.length);
    for (const key of needed) this.#left[key] = (this.#left[key] as number) + 1;
    this.#waits = new Uint8Array(sizes.length);
    this.#isAhead = new Uint8Array(sizes.length);
    this.#nextFile = new Int32Array(sizes.length).fill(NONE);
    this.#sameAfter = new Int32Array(files.length);
    this.#skipped = new Float64Array(mayReadAhead ? files.length + 1 : 0);
    for (let file = files.length - 1; file >= 0; file--) {
      const key = files[file] as number;
      if (key === NONE) continue;
      this.#sameAfter[file] = this.#nextFile[key] as number;
      this.#nextFile[key] = file;
    }
  }

  run(): { readonly waitingBytes: number; readonly ahead: readonly number[] } {
    for (const key of this.#reading.needed) {
      if (!this.#waits[key] && this.#mayReadAhead && this.#isFarAhead(key)) this.#readAhead(key);
      if (!this.#waits[key]) this.#readTo(key);
      this.#use(key);
    }
    // What is read ahead waits from the beginning.
    return { waitingBytes: this.#mostWaiting + this.#aheadBytes, ahead: this.#ahead };
  }

  #isFarAhead(key: number): boolean {
    const file = this.#nextFile[key] as number;
    if (file === NONE || this.#aheadBytes + this.#sizeOf(key) > MAX_AHEAD_BYTES) return false;
    return this.#skippedBytes(file) > MAX_SKIPPED_BYTES;
  }

  #readAhead(key: number): void {
    this.#isAhead[key] = 1;
    this.#ahead.push(key);
    this.#aheadBytes += this.#sizeOf(key);
    this.#wait(key);
  }

  /** As an `ImageReader` does. */
  #readTo(wanted: number): void {
    const { files } = this.#reading;
    while (this.#at < files.length) {
      const file = this.#at++;
      const key = files[file] as number;
      if (key === NONE) continue;
      this.#nextFile[key] = this.#sameAfter[file] as number;
      if (key === wanted) {
        if ((this.#left[key] as number) > 1) this.#wait(key);
        return;
      }
      if (!this.#waits[key] && (this.#left[key] as number) > 0) this.#wait(key);
    }
  }

  #use(key: number): void {
    const left = (this.#left[key] as number) - 1;
    this.#left[key] = left;
    const isKept = left > 0 && (this.#nextFile[key] === NONE || this.#isAhead[key] === 1);
    if (!this.#waits[key] || isKept) return;
    this.#waits[key] = 0;
    this.#waiting -= this.#sizeOf(key);
  }

  #wait(key: number): void {
    this.#waits[key] = 1;
    this.#waiting += this.#sizeOf(key);
    this.#mostWaiting = Math.max(this.#mostWaiting, this.#waiting);
  }

  /** Bytes that would wait if all files before this one were read now. */
  #skippedBytes(file: number): number {
    const { files } = this.#reading;
    if (this.#skippedFrom !== this.#at) {
      this.#skippedFrom = this.#at;
      this.#skippedTo = this.#at;
      this.#skipped[this.#at] = 0;
    }
    for (; this.#skippedTo < file; this.#skippedTo++) {
      const key = files[this.#skippedTo] as number;
      const waits = key !== NONE && !this.#waits[key] && (this.#left[key] as number) > 0;
      this.#skipped[this.#skippedTo + 1] = (this.#skipped[this.#skippedTo] as number) + (waits ? this.#sizeOf(key) : 0);
    }
    return this.#skipped[file] as number;
  }

  #sizeOf(key: number): number {
    return this.#reading.sizes[key] as number;
  }
}
