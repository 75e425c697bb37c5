import { HEALTH_KEPT_S, HEALTH_METRICS, MAX_HEALTH_VALUE, MIN_HEALTH_VALUE } from "./device-health.ts";
import type { HealthRow, HealthSpreads, Spread } from "./health-points.ts";

/*
 * How a device was, as few bytes: what it sends of its own accord, and what the service stores. Values are whole percents and
 * degrees.
 *
 * Bits, the highest of a byte first. `count` is Elias' gamma code of a number from 0 on (of the number plus one: as many zeros as
 * it has bits after the first, then its bits); `number` is a count of 2n for n from 0 on, and of -2n-1 below.
 *
 * - count of rows less one; 24 bits: the first row's time in intervals since 1970; a count for each further row: intervals since
 *   the one before, less one;
 * - count of columns; they are those of `HEALTH_METRICS`, and what a newer peer has behind them;
 * - for each column two bits: 0, no row has it; 1, all have one value, which follows as a number; 2, all rows have it; 3, a bit
 *   for each row says whether it has it. With 2 and 3, for each row that has it: the mean as a number, the difference to the row
 *   before from the second on; the count from the lowest to the mean; the count from the mean to the highest.
 */

/** Seconds that one row covers that a device sends of its own accord. */
export const HEALTH_REPORT_ROW_S = 900;
/** Rows of one message, and of one day that is stored. */
export const MAX_HEALTH_ROWS = HEALTH_KEPT_S / HEALTH_REPORT_ROW_S;
/** The first byte of a binary message with such rows; streams have the lower ones (`stream-data.ts`). */
const MESSAGE_TYPE = 4;
/** With every value at its longest, and columns of a newer peer. */
const MAX_MESSAGE_BYTES = 24 * 1024;

const TIME_BITS = 24;
const MAX_COLUMNS = 64;
/** Of the zeros before a count. */
const MAX_LENGTH = 16;

const ABSENT = 0;
const ONE_VALUE = 1;
const ALL_ROWS = 2;
const SOME_ROWS = 3;

/** Encodes a message of a device. @param rows as in `encodeHealthRows` */
export function encodeHealthMessage(rows: readonly HealthRow[]): Uint8Array {
  const encoded = encodeHealthRows(rows, HEALTH_REPORT_ROW_S);
  const message = new Uint8Array(1 + encoded.length);
  message[0] = MESSAGE_TYPE;
  message.set(encoded, 1);
  return message;
}

/** Whether a binary message is one with rows, valid or not. */
export function isHealthMessage(message: Uint8Array): boolean {
  return message[0] === MESSAGE_TYPE;
}

/** Decodes a message of a device; `undefined` if it is not valid. Never throws. */
export function decodeHealthMessage(message: Uint8Array): HealthRow[] | undefined {
  if (!isHealthMessage(message) || message.length > MAX_MESSAGE_BYTES) return undefined;
  return decodeHealthRows(message.subarray(1), HEALTH_REPORT_ROW_S);
}

/** @param rows 1 to `MAX_HEALTH_ROWS`, the oldest first, at different multiples of the interval */
export function encodeHealthRows(rows: readonly HealthRow[], intervalS: number): Uint8Array {
  const writer = new BitWriter();
  writer.count(rows.length - 1);
  let before: number | undefined;
  for (const { at } of rows) {
    const time = at / intervalS;
    if (before === undefined) writer.bits(time, TIME_BITS);
    else writer.count(time - before - 1);
    before = time;
  }
  writer.count(HEALTH_METRICS.length);
  for (const metric of HEALTH_METRICS)
    encodeColumn(
      rows.map(({ spreads }) => spreads[metric] && wholeSpread(spreads[metric])),
      writer,
    );
  return writer.finish();
}

/** Returns the rows, the oldest first, each at another time; `undefined` if the bytes are not valid. Never throws. */
export function decodeHealthRows(bytes: Uint8Array, intervalS: number): HealthRow[] | undefined {
  try {
    return decode(new BitReader(bytes), intervalS);
  } catch (error) {
    if (error instanceof InvalidBits) return undefined;
    throw error;
  }
}

function encodeColumn(spreads: readonly (Spread | undefined)[], writer: BitWriter): void {
  const found = spreads.filter((spread) => spread !== undefined);
  const [first] = found;
  if (first === undefined) return writer.bits(ABSENT, 2);
  const isComplete = found.length === spreads.length;
  const [value] = first;
  if (isComplete && found.every(([min, , max]) => min === value && max === value)) {
    writer.bits(ONE_VALUE, 2);
    return writer.number(value);
  }
  writer.bits(isComplete ? ALL_ROWS : SOME_ROWS, 2);
  if (!isComplete) for (const spread of spreads) writer.bits(spread ? 1 : 0, 1);
  let before = 0;
  for (const [min, mean, max] of found) {
    writer.number(mean - before);
    writer.count(mean - min);
    writer.count(max - mean);
    before = mean;
  }
}

function decode(reader: BitReader, intervalS: number): HealthRow[] {
  const length = reader.count() + 1;
  if (length > MAX_HEALTH_ROWS) throw new InvalidBits();
  const rows: { readonly at: number; readonly spreads: HealthSpreads }[] = [];
  for (let time = reader.bits(TIME_BITS); ; time += 1 + reader.count()) {
    rows.push({ at: time * intervalS, spreads: {} });
    if (rows.length === length) break;
  }
  const columns = reader.count();
  if (columns > MAX_COLUMNS) throw new InvalidBits();
  for (let index = 0; index < columns; index++) {
    const metric = HEALTH_METRICS[index];
    for (const [row, spread] of decodeColumn(length, reader).entries()) {
      const { spreads } = rows[row] ?? {};
      if (metric !== undefined && spreads && spread) spreads[metric] = spread;
    }
  }
  reader.finish();
  return rows;
}

function decodeColumn(length: number, reader: BitReader): (Spread | undefined)[] {
  const mode = reader.bits(2);
  if (mode === ABSENT) return [];
  if (mode === ONE_VALUE) {
    const value = checked(reader.number());
    return Array.from({ length }, () => [value, value, value] as const);
  }
  const isIn = Array.from({ length }, () => mode === ALL_ROWS || reader.bits(1) === 1);
  let before = 0;
  return isIn.map((isMeasured) => {
    if (!isMeasured) return undefined;
    const mean = (before += reader.number());
    return [checked(mean - reader.count()), checked(mean), checked(mean + reader.count())] as const;
  });
}

function wholeSpread([min, mean, max]: Spread): Spread {
  return [wholeValue(min), wholeValue(mean), wholeValue(max)];
}

function wholeValue(value: number): number {
  return Math.round(Math.min(MAX_HEALTH_VALUE, Math.max(MIN_HEALTH_VALUE, value)));
}

function checked(value: number): number {
  if (value < MIN_HEALTH_VALUE || value > MAX_HEALTH_VALUE) throw new InvalidBits();
  return value;
}

class InvalidBits extends Error {}

class BitWriter {
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

class BitReader {
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
