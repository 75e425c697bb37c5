import { appName } from "../apps/app-fields.ts";
import {
  APP_REPORT_ROW_S,
  type AppFigures,
  type AppHealthRow,
  cpuOfStep,
  largestApps,
  MAX_CPU_STEP,
  MAX_MEMORY_STEP,
  MAX_RESTARTS,
  memoryOfStep,
  type Peak,
  stepOfCpu,
  stepOfMemory,
} from "./app-health.ts";
import { type BitReader, BitWriter, InvalidBits, readBits } from "./bits.ts";
import { HEALTH_KEPT_S, MAX_ANSWERED_APPS } from "./device-health.ts";

/*
 * What apps used, hour by hour, as few bytes: what a device sends behind the rows of `health-rows.ts`, and what the service stores.
 *
 * In bits, counts and numbers as in `bits.ts`:
 *
 * - count of hours; if there are any: the first one, as a number of hours after that of the message's first row, or 24 bits from
 *   1970 on where there is none; a count for each further one: hours since the one before, less one;
 * - in a message that follows another one with apps: one bit, 1 if there are no others in this one, so that they are the same; if not, count of apps, and for each the
 *   count of its letters with 7 bits for each;
 * - for each app one bit, 1 if processor and memory are known in each hour; if not, two bits for each hour say which of them
 *   are. For each hour: of each that is known its mean in steps as a number, the difference to the hour before, also that of the
 *   message before with the same apps; the count of steps from there to the highest; then, if one is known, the count of
 *   restarts.
 */

const TIME_BITS = 24;
const LETTER_BITS = 7;
const MAX_NAME_LENGTH = 63;
/** Hours of one message, and of one day that is stored. */
const MAX_APP_ROWS = HEALTH_KEPT_S / APP_REPORT_ROW_S + 1;

/** The last steps that were sent of each app. */
export type AppSteps = ReadonlyMap<string, readonly [cpu: number, memory: number]>;

/** What both sides of a session know of the message before. */
export interface AppContext {
  /** Time of the message's first row, Unix seconds; `undefined`: there is none. */
  readonly base: number | undefined;
  /** `undefined`: no message with apps was sent before. */
  readonly before: AppSteps | undefined;
}

const ALONE: AppContext = { base: undefined, before: undefined };

/** @param rows at most 24 at different hours, the oldest first, of at most `MAX_ANSWERED_APPS` apps together */
export function encodeAppRows(rows: readonly AppHealthRow[]): Uint8Array {
  const writer = new BitWriter();
  writeAppRows(rows, ALONE, writer);
  return writer.finish();
}

/** Returns the rows, the oldest first; `undefined` if the bytes are not valid. Never throws. */
export function decodeAppRows(bytes: Uint8Array): AppHealthRow[] | undefined {
  return readBits(bytes, (reader) => readAppRows(reader, ALONE).rows);
}

/**
 * Writes at most 49 rows at different hours, the oldest first, of at most `MAX_ANSWERED_APPS` apps together. Returns the context of
 * the next message.
 */
export function writeAppRows(
  rows: readonly AppHealthRow[],
  context: AppContext,
  writer: BitWriter,
): AppSteps | undefined {
  const { before } = context;
  writer.count(rows.length);
  if (rows.length === 0) return before;
  writeHours(rows, context, writer);
  const found = [...new Set(rows.flatMap(({ apps }) => [...apps.keys()]))].toSorted();
  // One that does not run now costs less than its name when it runs again.
  const isSame = before !== undefined && found.every((name) => before.has(name));
  const names = isSame ? [...before.keys()] : found;
  if (before) writer.bits(isSame ? 1 : 0, 1);
  if (!isSame) writeNames(names, writer);
  return new Map(
    names.map((name) => {
      const column = rows.map(({ apps }) => apps.get(name));
      return [name, writeApp(column, isSame ? (before.get(name) ?? [0, 0]) : [0, 0], writer)];
    }),
  );
}

/** The opposite of `writeAppRows`. Throws `InvalidBits`. */
export function readAppRows(
  reader: BitReader,
  context: AppContext,
): { readonly rows: AppHealthRow[]; readonly steps: AppSteps | undefined } {
  const { before } = context;
  const length = reader.count();
  if (length > MAX_APP_ROWS) throw new InvalidBits();
  if (length === 0) return { rows: [], steps: before };
  const hours = readHours(length, context, reader);
  const isSame = before !== undefined && reader.bits(1) === 1;
  const names = isSame ? [...before.keys()] : readNames(reader);
  const rows = hours.map((hour) => ({ at: hour * APP_REPORT_ROW_S, apps: new Map<string, AppFigures>() }));
  const steps = new Map<string, readonly [number, number]>();
  for (const name of names) {
    const read = readApp(length, isSame ? (before.get(name) ?? [0, 0]) : [0, 0], reader);
    for (const [index, figures] of read.column.entries()) if (figures) rows[index]?.apps.set(name, figures);
    steps.set(name, read.steps);
  }
  return { rows, steps };
}

function writeHours(rows: readonly AppHealthRow[], { base }: AppContext, writer: BitWriter): void {
  let before: number | undefined;
  for (const { at } of rows) {
    const hour = at / APP_REPORT_ROW_S;
    if (before !== undefined) writer.count(hour - before - 1);
    else if (base === undefined) writer.bits(hour, TIME_BITS);
    else writer.number(hour - Math.floor(base / APP_REPORT_ROW_S));
    before = hour;
  }
}

function readHours(length: number, { base }: AppContext, reader: BitReader): number[] {
  const first = base === undefined ? reader.bits(TIME_BITS) : Math.floor(base / APP_REPORT_ROW_S) + reader.number();
  if (first < 0) throw new InvalidBits();
  const hours = [first];
  for (let last = first; hours.length < length;) hours.push((last += 1 + reader.count()));
  return hours;
}

function writeNames(names: readonly string[], writer: BitWriter): void {
  writer.count(names.length);
  for (const name of names) {
    writer.count(name.length);
    for (const letter of name) writer.bits(letter.charCodeAt(0), LETTER_BITS);
  }
}

/** Names of apps only: a device that lies has no others in the service. */
function readNames(reader: BitReader): string[] {
  const length = reader.count();
  if (length > MAX_ANSWERED_APPS) throw new InvalidBits();
  const names = new Set<string>();
  for (let index = 0; index < length; index++) {
    const letters = reader.count();
    if (letters > MAX_NAME_LENGTH) throw new InvalidBits();
    const name = String.fromCharCode(...Array.from({ length: letters }, () => reader.bits(LETTER_BITS)));
    if (names.has(name) || !appName.safeParse(name).success) throw new InvalidBits();
    names.add(name);
  }
  return [...names];
}

function writeApp(
  column: readonly (AppFigures | undefined)[],
  before: readonly [number, number],
  writer: BitWriter,
): readonly [number, number] {
  let [cpu, memory] = before;
  const isWhole = column.every((one) => one?.cpu_percent && one.memory_bytes);
  writer.bits(isWhole ? 1 : 0, 1);
  for (const one of column) {
    if (!isWhole) {
      writer.bits(one?.cpu_percent ? 1 : 0, 1);
      writer.bits(one?.memory_bytes ? 1 : 0, 1);
    }
    if (one?.cpu_percent) cpu = writePeak(one.cpu_percent, stepOfCpu, cpu, writer);
    if (one?.memory_bytes) memory = writePeak(one.memory_bytes, stepOfMemory, memory, writer);
    if (one?.cpu_percent || one?.memory_bytes) writer.count(Math.min(MAX_RESTARTS, one.restarts));
  }
  return [cpu, memory];
}

function readApp(
  length: number,
  before: readonly [number, number],
  reader: BitReader,
): { readonly column: (AppFigures | undefined)[]; readonly steps: readonly [number, number] } {
  let [cpu, memory] = before;
  const isWhole = reader.bits(1) === 1;
  const column = Array.from({ length }, (): AppFigures | undefined => {
    const [hasCpu, hasMemory] = isWhole ? [true, true] : [reader.bits(1) === 1, reader.bits(1) === 1];
    let cpuPercent: Peak | undefined;
    let memoryBytes: Peak | undefined;
    if (hasCpu) [cpu, cpuPercent] = readPeak(cpu, cpuOfStep, MAX_CPU_STEP, reader);
    if (hasMemory) [memory, memoryBytes] = readPeak(memory, memoryOfStep, MAX_MEMORY_STEP, reader);
    if (!cpuPercent && !memoryBytes) return undefined;
    const restarts = reader.count();
    if (restarts > MAX_RESTARTS) throw new InvalidBits();
    return {
      ...(cpuPercent && { cpu_percent: cpuPercent }),
      ...(memoryBytes && { memory_bytes: memoryBytes }),
      restarts,
    };
  });
  return { column, steps: [cpu, memory] };
}

/** Returns the step of the mean. */
function writePeak([mean, max]: Peak, stepOf: (value: number) => number, before: number, writer: BitWriter): number {
  const step = stepOf(mean);
  writer.number(step - before);
  writer.count(Math.max(0, stepOf(max) - step));
  return step;
}

function readPeak(
  before: number,
  valueOf: (step: number) => number,
  maxStep: number,
  reader: BitReader,
): readonly [number, Peak] {
  const step = before + reader.number();
  const highest = step + reader.count();
  if (step < 0 || highest > maxStep) throw new InvalidBits();
  return [step, [valueOf(step), valueOf(highest)]];
}

/** Returns the rows with no more apps than a message may have: those with the most memory. */
export function boundApps(rows: readonly AppHealthRow[], most: number): readonly AppHealthRow[] {
  const names = new Map(rows.flatMap(({ apps }) => [...apps]));
  if (names.size <= most) return rows;
  const kept = largestApps(names, most);
  return rows.map(({ at, apps }) => ({ at, apps: new Map([...apps].filter(([name]) => kept.has(name))) }));
}
