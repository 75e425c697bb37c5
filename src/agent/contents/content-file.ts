import { crc32 } from "node:zlib";
import { CONTENT_DIGEST_BYTES } from "../../lib/layer-parts/content-digest.ts";

/*
 * What the files of one image contain: for each file with content the beginning of its SHA-256, and its number among these
 * files in the order in which the engine exports them. Sorted by digest, so that it is searched as it is on disk.
 */

const MAGIC = Buffer.from("EDGECNT1", "latin1");
const HEADER_BYTES = 16;
const RECORD_BYTES = CONTENT_DIGEST_BYTES + 4;

/** A file with content. */
export interface ContentRecord {
  /** As in layouts: the beginning of a SHA-256. */
  readonly digest: string;
  /** 0 for the first file with content of the export. */
  readonly number: number;
}

/** The contents of one image. */
export class ContentFile {
  readonly #records: Buffer;

  private constructor(records: Buffer) {
    this.#records = records;
  }

  /** @param records in any order */
  static of(records: readonly ContentRecord[]): ContentFile {
    const sorted = records.toSorted((a, b) => compare(a.digest, b.digest) || a.number - b.number);
    const bytes = Buffer.alloc(sorted.length * RECORD_BYTES);
    for (const [index, { digest, number }] of sorted.entries()) {
      bytes.write(digest, index * RECORD_BYTES, "hex");
      bytes.writeUInt32LE(number, index * RECORD_BYTES + CONTENT_DIGEST_BYTES);
    }
    return new ContentFile(bytes);
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

  /** Returns the numbers of the files with this content, in their order; none if the image does not have it. */
  find(digest: string): readonly number[] {
    const wanted = Buffer.from(digest, "hex");
    const numbers: number[] = [];
    for (let index = this.#firstNotBelow(wanted); this.#compare(wanted, index) === 0; index++) {
      numbers.push(this.#records.readUInt32LE(index * RECORD_BYTES + CONTENT_DIGEST_BYTES));
    }
    return numbers;
  }

  /** Returns the content of the file on disk. */
  encode(): Buffer {
    const header = Buffer.alloc(HEADER_BYTES);
    MAGIC.copy(header);
    header.writeUInt32LE(this.#records.length / RECORD_BYTES, 8);
    header.writeUInt32LE(crc32(this.#records), 12);
    return Buffer.concat([header, this.#records]);
  }

  get #count(): number {
    return this.#records.length / RECORD_BYTES;
  }

  #firstNotBelow(wanted: Buffer): number {
    let low = 0;
    let high = this.#count;
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if (this.#compare(wanted, middle) > 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Compares with the digest of a record; one behind the last is larger than any. */
  #compare(wanted: Buffer, index: number): number {
    if (index === this.#count) return -1;
    const at = index * RECORD_BYTES;
    return wanted.compare(this.#records, at, at + CONTENT_DIGEST_BYTES);
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
