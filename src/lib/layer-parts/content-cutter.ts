import { createHash } from "node:crypto";

const KIB = 1024;
/** Contents of up to `whole` bytes are one part. Larger ones are cut where their bytes say, into parts of about 768 KiB. */
export const PART_BYTES = { whole: 1024 * KIB, min: 256 * KIB, max: 2048 * KIB };
/** From `min` on, one position in 2^19 is a cut. */
const CUT_BITS = 19;
/** Bytes that the rolling hash depends on: each shifts it by one bit. */
const WINDOW_BYTES = 32;
const GEAR_VALUES = 256;
const GEAR = gearTable();

/**
 * Cuts a content into parts by a rolling hash (gear), so that a change or an insertion changes the parts it is in, and no
 * others. The same content has the same parts everywhere: a device finds those of the contents it has without an index.
 */
export class ContentCutter {
  readonly #isWhole: boolean;
  #pieces: Uint8Array[] = [];
  #length = 0;
  #hash = 0;

  /** @param size bytes of the content */
  constructor(size: number) {
    this.#isWhole = size <= PART_BYTES.whole;
  }

  /** Yields the parts that end in these bytes. */
  *read(bytes: Uint8Array): Generator<Uint8Array> {
    let rest = bytes;
    for (let cut = this.#findCut(rest); cut !== undefined; cut = this.#findCut(rest)) {
      this.#keep(rest.subarray(0, cut));
      rest = rest.subarray(cut);
      yield this.#take();
    }
    this.#keep(rest);
  }

  /** The last part; `undefined` if the content ended with a cut. */
  end(): Uint8Array | undefined {
    return this.#length > 0 ? this.#take() : undefined;
  }

  /** Bytes up to the end of the part, if it is in these. */
  #findCut(bytes: Uint8Array): number | undefined {
    if (this.#isWhole) return undefined;
    let hash = this.#hash;
    for (let at = Math.max(0, PART_BYTES.min - WINDOW_BYTES - this.#length); at < bytes.length; at++) {
      hash = ((hash << 1) + (GEAR[bytes[at] as number] as number)) | 0;
      const length = this.#length + at + 1;
      if (length < PART_BYTES.min) continue;
      if (hash >>> (32 - CUT_BITS) === 0 || length === PART_BYTES.max) return at + 1;
    }
    this.#hash = hash;
    return undefined;
  }

  #keep(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    this.#pieces.push(bytes);
    this.#length += bytes.length;
  }

  #take(): Uint8Array {
    const part = this.#pieces.length === 1 ? (this.#pieces[0] as Uint8Array) : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.#length = 0;
    this.#hash = 0;
    return part;
  }
}

/** Random values, the same for ever: other ones would cut contents elsewhere. */
function gearTable(): Int32Array {
  const table = new Int32Array(GEAR_VALUES);
  for (let value = 0; value < GEAR_VALUES; value++) {
    table[value] = createHash("sha256").update(Uint8Array.of(value)).digest().readInt32LE();
  }
  return table;
}
