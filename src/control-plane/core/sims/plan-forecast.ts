import { periodOf, type TimeRange } from "../usage-period.ts";

const DAY = 24 * 3600;
/** Number of whole days whose mean the forecast is based on: each weekday once. */
const MEAN_DAYS = 7;

/** Bytes of one UTC day. Days without usage may be left out. */
export interface DayUsage {
  /** Start of the day, in Unix seconds. */
  readonly start: number;
  readonly bytes: number;
}

/** What a forecast is made from. */
export interface DataPlanQuestion {
  /** Bytes a calendar month in UTC, above 0. */
  readonly allowanceBytes: number;
  /** Usage by day in `planRange`. Those before it are ignored. */
  readonly days: readonly DayUsage[];
  /** When the asset was registered, in Unix seconds: a SIM that was not known before then has no usage to average. */
  readonly registeredAt: number;
  /** Unix seconds. */
  readonly now: number;
}

/** `foreseen`: the plan will be spent before the month ends if usage goes on as it was. */
export type DataPlanState = "ok" | "foreseen" | "spent";

/** The use of a plan in one calendar month. Bytes are at most 2^53 - 1. */
export interface DataPlanForecast {
  readonly month: TimeRange;
  readonly usedBytes: number;
  /** Expected use by the end of the month; `usedBytes` while there is no whole day to judge from. */
  readonly forecastBytes: number;
  /**
   * When the plan is spent, in Unix seconds; `undefined`: not within the month. For a plan that is spent, the start of the day on
   * which it was.
   */
  readonly exceededAt: number | undefined;
  readonly state: DataPlanState;
}

/** Returns the days whose usage a forecast needs: the month so far, and the days of the mean. @param now Unix seconds */
export function planRange(now: number): TimeRange {
  const today = periodOf(now, "day");
  return { start: Math.min(periodOf(now, "month").start, today.start - MEAN_DAYS * DAY), end: today.end };
}

/**
 * Returns how much of the allowance is used, and will be by the end of the month. The rest of the month is expected to go on at
 * the mean of the last seven whole days. Of a SIM that has been known for a shorter time, only the whole days since then count.
 */
export function forecastDataPlan({ allowanceBytes, days, registeredAt, now }: DataPlanQuestion): DataPlanForecast {
  const month = periodOf(now, "month");
  const ofMonth = days.filter(({ start }) => start >= month.start && start <= now);
  const used = sumOf(ofMonth);
  const mean = meanOf(days, registeredAt, now);
  const allowance = BigInt(allowanceBytes);
  const forecast = used + (mean.bytes * BigInt(month.end - now)) / mean.seconds;
  return {
    month,
    usedBytes: toSafe(used),
    forecastBytes: toSafe(forecast),
    ...(used >= allowance
      ? { state: "spent", exceededAt: spentOn(ofMonth, allowance) }
      : forecast >= allowance
        ? { state: "foreseen", exceededAt: now + Number(ceilDivide((allowance - used) * mean.seconds, mean.bytes)) }
        : { state: "ok", exceededAt: undefined }),
  };
}

/**
 * Returns for how long a judgement holds, in seconds: a plan of which less than half will be used is judged again after six hours,
 * any other one after an hour. Each judgement asks the operator for the usage of today.
 */
export function judgementHoldsS(
  { forecastBytes }: Pick<DataPlanForecast, "forecastBytes">,
  allowanceBytes: number,
): number {
  return (forecastBytes < allowanceBytes / 2 ? 6 : 1) * 3600;
}

/** Returns the bytes of the days that count, and their length in seconds; 0 bytes a second if there are none. */
function meanOf(days: readonly DayUsage[], registeredAt: number, now: number) {
  const end = periodOf(now, "day").start;
  const counted = days.filter(({ start, bytes }) => start >= end - MEAN_DAYS * DAY && start < end && bytes > 0);
  // Imported usage may be older than the asset.
  const knownFrom = Math.min(Math.ceil(registeredAt / DAY) * DAY, ...counted.map(({ start }) => start));
  const start = Math.max(end - MEAN_DAYS * DAY, knownFrom);
  return { bytes: sumOf(counted), seconds: BigInt(Math.max(end - start, 1)) };
}

/** The day on which the sum reached the allowance. */
function spentOn(days: readonly DayUsage[], allowance: bigint): number | undefined {
  let used = 0n;
  return days
    .toSorted((one, other) => one.start - other.start)
    .find(({ bytes }) => (used += BigInt(bytes)) >= allowance)?.start;
}

function sumOf(days: readonly DayUsage[]): bigint {
  return days.reduce((sum, { bytes }) => sum + BigInt(bytes), 0n);
}

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}

function toSafe(bytes: bigint): number {
  return Math.min(Number(bytes), Number.MAX_SAFE_INTEGER);
}
