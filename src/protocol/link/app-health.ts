import { type AppHealth, MAX_ANSWERED_APPS } from "./device-health.ts";
import { intervalOf, type PointRange, startOf } from "./health-points.ts";

/** The mean and the highest of several samples. */
export type Peak = readonly [mean: number, max: number];

/** What an app used in some time; what could not be measured is absent. */
export interface AppFigures {
  /** Of one processor. */
  readonly cpu_percent?: Peak | undefined;
  readonly memory_bytes?: Peak | undefined;
  /** How often it was started again. */
  readonly restarts: number;
}

/** What apps used in some time, by name. */
export interface AppHealthRow {
  /** Start, Unix seconds. */
  readonly at: number;
  readonly apps: ReadonlyMap<string, AppFigures>;
}

/** Seconds of one row that a device sends, and that the service keeps. */
export const APP_REPORT_ROW_S = 3_600;
/** Apps of one row: those with the most memory. */
export const MAX_ROW_APPS = 16;
export const MAX_RESTARTS = 1_000;

/*
 * Figures are kept in steps, each larger than the one before by the same part: what was 1.3 GB and is 1.4 GB matters as much as
 * what was 13 MB and is 14 MB.
 */

/** 9 % each: the value is off by 4.5 % at most. */
const MEMORY_STEPS_PER_DOUBLING = 8;
const LOWEST_BYTES = 65_536;
/** 2 TiB. */
export const MAX_MEMORY_STEP = 25 * MEMORY_STEPS_PER_DOUBLING;
/** 19 % each: the value is off by 9 % at most. */
const CPU_STEPS_PER_DOUBLING = 4;
const LOWEST_PERCENT = 0.1;
/** A thousand processors. */
export const MAX_CPU_STEP = 20 * CPU_STEPS_PER_DOUBLING;

/** @returns 0 for what is less than half of the first step */
export function stepOfCpu(percent: number): number {
  return stepOf(percent / LOWEST_PERCENT, CPU_STEPS_PER_DOUBLING, MAX_CPU_STEP);
}

export function cpuOfStep(step: number): number {
  return step === 0 ? 0 : Number((LOWEST_PERCENT * 2 ** ((step - 1) / CPU_STEPS_PER_DOUBLING)).toPrecision(3));
}

/** @returns 0 for what is less than half of the first step */
export function stepOfMemory(bytes: number): number {
  return stepOf(bytes / LOWEST_BYTES, MEMORY_STEPS_PER_DOUBLING, MAX_MEMORY_STEP);
}

export function memoryOfStep(step: number): number {
  return step === 0 ? 0 : Math.round(LOWEST_BYTES * 2 ** ((step - 1) / MEMORY_STEPS_PER_DOUBLING));
}

function stepOf(times: number, perDoubling: number, max: number): number {
  if (!(times >= 0.5)) return 0;
  return Math.min(max, Math.max(1, 1 + Math.round(Math.log2(times) * perDoubling)));
}

/** Returns one row for each interval that has rows, with its start, in order. */
export function combineAppRows(rows: readonly AppHealthRow[], intervalS: number): AppHealthRow[] {
  return [...Map.groupBy(rows, ({ at }) => startOf(at, intervalS))]
    .toSorted(([one], [other]) => one - other)
    .map(([at, group]) => ({ at, apps: combineApps(group.map(({ apps }) => apps)) }));
}

function combineApps(all: readonly AppHealthRow["apps"][]): AppHealthRow["apps"] {
  const figures = Map.groupBy(
    all.flatMap((apps) => [...apps]),
    ([name]) => name,
  );
  return new Map([...figures].map(([name, each]) => [name, combineFigures(each.map(([, one]) => one))]));
}

/** Combines what an app used in times of one length. */
function combineFigures(all: readonly AppFigures[]): AppFigures {
  const cpu = combinePeaks(all.flatMap(({ cpu_percent: one }) => (one ? [one] : [])));
  const memory = combinePeaks(all.flatMap(({ memory_bytes: one }) => (one ? [one] : [])));
  return {
    ...(cpu && { cpu_percent: cpu }),
    ...(memory && { memory_bytes: memory }),
    restarts: all.reduce((sum, { restarts }) => sum + restarts, 0),
  };
}

function combinePeaks(peaks: readonly Peak[]): Peak | undefined {
  if (peaks.length === 0) return undefined;
  return [peaks.reduce((sum, [mean]) => sum + mean, 0) / peaks.length, Math.max(...peaks.map(([, max]) => max))];
}

/** Returns the apps with the most memory, at most `limit`, by name. */
export function largestApps(apps: AppHealthRow["apps"], limit: number): AppHealthRow["apps"] {
  const largest = [...apps].toSorted(([, one], [, other]) => memoryOf(other) - memoryOf(one)).slice(0, limit);
  return new Map(largest.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function memoryOf({ memory_bytes: memory }: AppFigures): number {
  return memory?.[0] ?? 0;
}

/** As `pointsOf` for what apps used. @param rowS seconds that one row covers */
export function appPointsOf(rows: readonly AppHealthRow[], range: PointRange, rowS: number): AppHealth {
  const interval = intervalOf(range, rowS);
  const found = combineAppRows(
    rows.filter(({ at }) => at >= range.from && at < range.to),
    interval,
  );
  const all = combineApps(found.map(({ apps }) => apps));
  const shown = [...largestApps(all, MAX_ANSWERED_APPS).keys()];
  const column = (app: string, valueOf: (figures: AppFigures) => number | undefined): (number | null)[] =>
    found.map(({ apps }) => {
      const figures = apps.get(app);
      return (figures && valueOf(figures)) ?? null;
    });
  return {
    interval_s: interval,
    at: found.map(({ at }) => at),
    apps: shown.map((app) => ({
      app,
      cpu_percent: {
        mean: column(app, ({ cpu_percent: cpu }) => cpu && tenths(cpu[0])),
        max: column(app, ({ cpu_percent: cpu }) => cpu && tenths(cpu[1])),
      },
      memory_bytes: {
        mean: column(app, ({ memory_bytes: memory }) => memory && Math.round(memory[0])),
        max: column(app, ({ memory_bytes: memory }) => memory && Math.round(memory[1])),
      },
      restarts: column(app, ({ restarts }) => restarts),
    })),
    omitted_apps: all.size - shown.length,
  };
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
