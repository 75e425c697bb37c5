import { LayoutError } from "../layer-layout.ts";

const [MORE, DIGIT] = [0x80, 0x80];

/** Appends a whole number from 0 to 2^53 - 1 as bytes of seven bits, the lowest first. */
export function pushVarint(bytes: number[], value: number): void {
  let rest = value;
  while (rest >= DIGIT) {
    bytes.push((rest % DIGIT) | MORE);
    rest = Math.floor(rest / DIGIT);
  }
  bytes.push(rest);
}

/** Reads numbers and bytes one after another. */
export class TableReader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  }

  /** Bytes that have not been read. */
  get rest(): number {
    return this.#bytes.length - this.#at;
  }

  /** @throws {LayoutError} at the end, and for a number that is too large */
  varint(what: string, max: number): number {
    let value = 0;
    let factor = 1;
    let byte = MORE;
    while ((byte & MORE) !== 0) {
      byte = this.take(1)[0] ?? 0;
      value += (byte & ~MORE) * factor;
      if (value > max) throw new LayoutError(`${what} in the index is larger than ${max}`);
      factor *= DIGIT;
      if (factor > 2 ** 56) throw new LayoutError(`${what} in the index is no number`);
    }
    return value;
  }

  /**
   * Skips as many numbers, and returns a reader of them. Columns are read side by side that way, without a copy.
   *
   * @throws {LayoutError} at the end
   */
  column(count: number): TableReader {
    const column = new TableReader(this.#bytes);
    column.#at = this.#at;
    for (let left = count; left > 0; this.#at++) {
      if (this.#at >= this.#bytes.length) throw cutOff();
      if (((this.#bytes[this.#at] as number) & MORE) === 0) left--;
    }
    return column;
  }

  /** @throws {LayoutError} at the end */
  take(length: number): Buffer {
    if (length > this.rest) throw cutOff();
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}

function cutOff(): LayoutError {
  return new LayoutError("the index is cut off");
}
