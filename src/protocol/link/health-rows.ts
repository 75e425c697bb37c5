import { HEALTH_KEPT_S, HEALTH_METRICS, MAX_HEALTH_VALUE, MIN_HEALTH_VALUE } from "./device-health.ts";
import { type BitReader, BitWriter, InvalidBits, readBits } from "./bits.ts";
import type { HealthRow, HealthSpreads, Spread } from "./health-points.ts";

/*
 * How a device was, as few bytes: what it sends of its own accord, and what the service stores. Values are whole percents and
 * degrees.
 *
 * In bits, counts and numbers as in `bits.ts`:
 *
 * - count of rows less one; the first row's time in intervals: 24 bits from 1970 on, or, in a message that follows another one,
 *   the count since that one's last row, less one; such a count for each further row;
 * - count of columns; they are those of `HEALTH_METRICS`, and what a newer peer has behind them;
 * - for each column two bits: 0, no row has it; 1, all have one value; 2, all rows have it; 3, a bit for each row says whether it
 *   has it. With 1 the value follows; with 2 and 3, for each row that has it: the mean; the count from the lowest to the mean; the
 *   count from the mean to the highest. Value and mean are numbers: the difference to the last mean of the column, also of the
 *   message before, and to 0 where there is none.
 */

/** Seconds that one row covers that a device sends of its own accord. */
export const HEALTH_REPORT_ROW_S = 900;
/** Rows of one message, and of one day that is stored. */
export const MAX_HEALTH_ROWS = HEALTH_KEPT_S / HEALTH_REPORT_ROW_S;

const TIME_BITS = 24;
const MAX_COLUMNS = 64;

const ABSENT = 0;
const ONE_VALUE = 1;
const ALL_ROWS = 2;
const SOME_ROWS = 3;

/** @param rows 1 to `MAX_HEALTH_ROWS`, the oldest first, at different multiples of the interval */
export function encodeHealthRows(rows: readonly HealthRow[], intervalS: number): Uint8Array {
  const writer = new BitWriter();
  writeHealthRows(rows, intervalS, writer);
  return writer.finish();
}

/** What both sides of a session know of the message before. */
export interface RowContext {
  /** Time of its last row, Unix seconds. */
  readonly at: number;
  /** The last mean of each column; `undefined`: it had none yet. */
  readonly means: readonly (number | undefined)[];
}

/** Returns the context of the next message. @param rows as in `encodeHealthRows`, after those of the message before */
export function writeHealthRows(
  rows: readonly HealthRow[],
  intervalS: number,
  writer: BitWriter,
  before?: RowContext,
): RowContext {
  writer.count(rows.length - 1);
  let last = before && before.at / intervalS;
  for (const { at } of rows) {
    const time = at / intervalS;
    if (last === undefined) writer.bits(time, TIME_BITS);
    else writer.count(time - last - 1);
    last = time;
  }
  writer.count(HEALTH_METRICS.length);
  const means = HEALTH_METRICS.map((metric, index) =>
    encodeColumn(
      rows.map(({ spreads }) => spreads[metric] && wholeSpread(spreads[metric])),
      before?.means[index],
      writer,
    ),
  );
  return { at: (last ?? 0) * intervalS, means };
}

/** Returns the rows, the oldest first, each at another time; `undefined` if the bytes are not valid. Never throws. */
export function decodeHealthRows(bytes: Uint8Array, intervalS: number): HealthRow[] | undefined {
  return readBits(bytes, (reader) => readHealthRows(reader, intervalS).rows);
}

/** Returns the last mean of the column. */
function encodeColumn(
  spreads: readonly (Spread | undefined)[],
  before: number | undefined,
  writer: BitWriter,
): number | undefined {
  const found = spreads.filter((spread) => spread !== undefined);
  const [first] = found;
  if (first === undefined) {
    writer.bits(ABSENT, 2);
    return before;
  }
  const isComplete = found.length === spreads.length;
  const [value] = first;
  let last = before ?? 0;
  if (isComplete && found.every(([min, , max]) => min === value && max === value)) {
    writer.bits(ONE_VALUE, 2);
    writer.number(value - last);
    return value;
  }
  writer.bits(isComplete ? ALL_ROWS : SOME_ROWS, 2);
  if (!isComplete) for (const spread of spreads) writer.bits(spread ? 1 : 0, 1);
  for (const [min, mean, max] of found) {
    writer.number(mean - last);
    writer.count(mean - min);
    writer.count(max - mean);
    last = mean;
  }
  return last;
}

/** The opposite of `writeHealthRows`. Throws `InvalidBits`. */
export function readHealthRows(
  reader: BitReader,
  intervalS: number,
  before?: RowContext,
): { readonly rows: HealthRow[]; readonly context: RowContext } {
  const length = reader.count() + 1;
  if (length > MAX_HEALTH_ROWS) throw new InvalidBits();
  let time = before ? before.at / intervalS + 1 + reader.count() : reader.bits(TIME_BITS);
  const rows: { readonly at: number; readonly spreads: HealthSpreads }[] = [];
  for (; ; time += 1 + reader.count()) {
    if (time >= 2 ** TIME_BITS) throw new InvalidBits();
    rows.push({ at: time * intervalS, spreads: {} });
    if (rows.length === length) break;
  }
  const columns = reader.count();
  if (columns > MAX_COLUMNS) throw new InvalidBits();
  const means = Array.from({ length: columns }, (_, index) => {
    const { spreads: column, mean } = decodeColumn(length, before?.means[index], reader);
    const metric = HEALTH_METRICS[index];
    for (const [row, spread] of column.entries()) {
      const { spreads } = rows[row] ?? {};
      if (metric !== undefined && spreads && spread) spreads[metric] = spread;
    }
    return mean;
  });
  return { rows, context: { at: time * intervalS, means } };
}

function decodeColumn(
  length: number,
  before: number | undefined,
  reader: BitReader,
): { readonly spreads: (Spread | undefined)[]; readonly mean: number | undefined } {
  const mode = reader.bits(2);
  if (mode === ABSENT) return { spreads: [], mean: before };
  let mean = before ?? 0;
  if (mode === ONE_VALUE) {
    mean = checked(mean + reader.number());
    return { spreads: Array.from({ length }, () => [mean, mean, mean] as const), mean };
  }
  const isIn = Array.from({ length }, () => mode === ALL_ROWS || reader.bits(1) === 1);
  const spreads = isIn.map((isMeasured) => {
    if (!isMeasured) return undefined;
    mean = checked(mean + reader.number());
    return [checked(mean - reader.count()), mean, checked(mean + reader.count())] as const;
  });
  return { spreads, mean };
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
