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

  /** @throws {LayoutError} at the end */
  take(length: number): Buffer {
    if (length > this.rest) throw new LayoutError("the index is cut off");
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }
}
