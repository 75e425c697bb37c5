/*
 * Bits, the highest of a byte first. `count` is Elias' gamma code of a number from 0 on (of the number plus one: as many zeros as
 * it has bits after the first, then its bits); `number` is a count of 2n for n from 0 on, and of -2n-1 below.
 */

/** Of the zeros before a count: enough for the hours and quarters of any two times. */
const MAX_LENGTH = 24;

/** The bits are not what was expected. */
export class InvalidBits extends Error {}

export class BitWriter {
  readonly #bytes: number[] = [];
  #used = 0;

  bits(value: number, count: number): void {
    for (let bit = count - 1; bit >= 0; bit--) {
      if (this.#used % 8 === 0) this.#bytes.push(0);
      const last = this.#bytes.length - 1;
      this.#bytes[last] = (this.#bytes[last] ?? 0) | (((value >>> bit) & 1) << (7 - (this.#used % 8)));
      this.#used++;
    }
  }

  count(value: number): void {
    const length = 31 - Math.clz32(value + 1);
    this.bits(0, length);
    this.bits(value + 1, length + 1);
  }

  number(value: number): void {
    this.count(value < 0 ? -2 * value - 1 : 2 * value);
  }

  finish(): Uint8Array {
    return Uint8Array.from(this.#bytes);
  }
}

/** Every method throws `InvalidBits` where the bits end, or are no count. */
export class BitReader {
  readonly #bytes: Uint8Array;
  #used = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  bits(count: number): number {
    let value = 0;
    for (let bit = 0; bit < count; bit++) {
      const byte = this.#bytes[this.#used >>> 3];
      if (byte === undefined) throw new InvalidBits();
      value = (value << 1) | ((byte >>> (7 - (this.#used & 7))) & 1);
      this.#used++;
    }
    return value;
  }

  count(): number {
    let length = 0;
    while (this.bits(1) === 0) if (++length > MAX_LENGTH) throw new InvalidBits();
    return ((1 << length) | this.bits(length)) - 1;
  }

  number(): number {
    const count = this.count();
    return count % 2 === 0 ? count / 2 : -(count + 1) / 2;
  }

  /** Nothing but zeros of the last byte may follow. */
  finish(): void {
    const left = this.#bytes.length * 8 - this.#used;
    if (left >= 8 || this.bits(left) !== 0) throw new InvalidBits();
  }
}

/** Returns what `read` makes of the bytes, all of them; `undefined` if they are not valid. */
export function readBits<T>(bytes: Uint8Array, read: (reader: BitReader) => T): T | undefined {
  try {
    const reader = new BitReader(bytes);
    const value = read(reader);
    reader.finish();
    return value;
  } catch (error) {
    if (error instanceof InvalidBits) return undefined;
    throw error;
  }
}
