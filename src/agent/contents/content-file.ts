import { crc32 } from "node:zlib";
import { CONTENT_DIGEST_BYTES } from "../../lib/layer-parts/content-digest.ts";

/*
 * What the files of one image contain: for each file with content the beginning of its SHA-256, and its number among these
 * files in the order in which the engine exports them. Sorted by digest, so that it is searched as it is on disk. Numbers are
 * big-endian: the order of records is that of their bytes.
 */

const MAGIC = Buffer.from("EDGECNT2", "latin1");
const HEADER_BYTES = 16;
const NUMBER_BYTES = 4;
const RECORD_BYTES = CONTENT_DIGEST_BYTES + NUMBER_BYTES;
/** Digests are spread evenly, so that the place of one can be guessed. Some that are chosen not to be are searched in halves. */
const MAX_GUESSES = 8;
/** One more than the largest beginning of a digest that is compared as a number. */
const BEGINNINGS = 2 ** 32;

/** The files with one content: `count` of them, from the index `first`. */
export interface FoundFiles {
  readonly first: number;
  readonly count: number;
}

/** The contents of one image. */
export class ContentFile {
  readonly #records: Buffer;

  private constructor(records: Buffer) {
    this.#records = records;
  }

  /** @param digests of the files, in the order of their numbers; as in layouts */
  static of(digests: readonly string[]): ContentFile {
    const records = digests.map((digest, number) => digest + number.toString(16).padStart(NUMBER_BYTES * 2, "0"));
    // Without a function to compare, which the agent would run in an interpreter.
    records.sort();
    return new ContentFile(Buffer.from(records.join(""), "hex"));
  }

  /** Returns what `encode` returned; `undefined` if the bytes are damaged. */
  static decode(bytes: Buffer): ContentFile | undefined {
    const records = bytes.subarray(HEADER_BYTES);
    const isIntact =
      bytes.length >= HEADER_BYTES &&
      bytes.subarray(0, MAGIC.length).equals(MAGIC) &&
      bytes.readUInt32LE(8) * RECORD_BYTES === records.length &&
      bytes.readUInt32LE(12) === crc32(records);
    return isIntact ? new ContentFile(records) : undefined;
  }

  /** How many files have content. */
  get length(): number {
    return this.#records.length / RECORD_BYTES;
  }

  /** Returns where the files with this content are; `undefined` if the image does not have it. */
  find(digest: string): FoundFiles | undefined {
    const wanted = Buffer.from(digest, "hex");
    const first = this.#firstNotBelow(wanted);
    let end = first;
    while (end < this.length && this.#compare(wanted, end) === 0) end++;
    return end > first ? { first, count: end - first } : undefined;
  }

  /** Returns the number of the file at an index; those with one content are in their order. */
  numberAt(index: number): number {
    return this.#records.readUInt32BE(index * RECORD_BYTES + CONTENT_DIGEST_BYTES);
  }

  /** Returns the content of the file on disk. */
  encode(): Buffer {
    const header = Buffer.alloc(HEADER_BYTES);
    MAGIC.copy(header);
    header.writeUInt32LE(this.length, 8);
    header.writeUInt32LE(crc32(this.#records), 12);
    return Buffer.concat([header, this.#records]);
  }

  /** Returns the index of the first record that is not below: `length` if all are. */
  #firstNotBelow(wanted: Buffer): number {
    const beginning = wanted.readUInt32BE(0);
    let low = 0;
    let high = this.length;
    let lowBeginning = 0;
    let highBeginning = BEGINNINGS;
    for (let guesses = 0; low < high; guesses++) {
      const share = guesses < MAX_GUESSES ? (beginning - lowBeginning) / (highBeginning - lowBeginning) : 0.5;
      const guess = Math.min(high - 1, low + Math.floor((high - low) * share));
      if (this.#compare(wanted, guess) > 0) {
        low = guess + 1;
        lowBeginning = this.#beginningAt(guess);
      } else {
        high = guess;
        // One more, since equal beginnings may have other digests behind them.
        highBeginning = this.#beginningAt(guess) + 1;
      }
    }
    return low;
  }

  #beginningAt(index: number): number {
    return this.#records.readUInt32BE(index * RECORD_BYTES);
  }

  #compare(wanted: Buffer, index: number): number {
    const at = index * RECORD_BYTES;
    return wanted.compare(this.#records, at, at + CONTENT_DIGEST_BYTES);
  }
}
