import { invalidRequest } from "../../protocol/errors/request-error.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import { type Granularity, MAX_USAGE_DAYS, type UsageQuery } from "../../protocol/assets/usage.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;

/** Time after which usage is final, in seconds. */
export type FinalizationPeriods = Readonly<Record<SimType, number>>;

/** A time range in Unix seconds, `start` inclusive, `end` exclusive. */
export interface TimeRange {
  readonly start: number;
  readonly end: number;
}

/** Granularities that divide the range into periods. */
export type Period = Exclude<Granularity, "all">;

/** Returns the period that contains the time, in UTC. */
export function periodOf(time: number, period: Period): TimeRange {
  if (period === "month") return { start: monthStart(time, 0), end: monthStart(time, 1) };
  const length = period === "hour" ? HOUR : DAY;
  const start = time - (time % length);
  return { start, end: start + length };
}

/** Returns the part of a period within the range: the first and the last period may be cut. */
export function clipPeriod(start: number, period: Period, range: TimeRange): TimeRange {
  return { start: Math.max(start, range.start), end: Math.min(periodOf(start, period).end, range.end) };
}

/**
 * Returns the range of a query, by default from the start of the current month in UTC until now. Throws `InvalidRequest`
 * when it is empty, reversed or longer than 400 days.
 */
export function resolveRange(query: Pick<UsageQuery, "start_time" | "end_time">, nowMs: number): TimeRange {
  const now = Math.floor(nowMs / 1000);
  const range = { start: query.start_time ?? monthStart(now, 0), end: query.end_time ?? now };
  // In the first second of a month the default range would be empty, which must not be an error.
  if (query.start_time === undefined && query.end_time === undefined && range.start === range.end) {
    return { start: range.start, end: range.end + 1 };
  }
  if (range.start >= range.end) throw invalidRequest([{ path: "start_time", reason: "must be before end_time" }]);
  if (range.end - range.start > MAX_USAGE_DAYS * DAY) {
    throw invalidRequest([{ path: "start_time", reason: `must be at most ${MAX_USAGE_DAYS} days before end_time` }]);
  }
  return range;
}

/** Returns the time before which usage no longer changes, in Unix seconds. */
export function finalizedUntil(nowMs: number, periods: FinalizationPeriods, type: SimType): number {
  return Math.max(0, Math.floor(nowMs / 1000 - periods[type]));
}

function monthStart(time: number, months: number): number {
  const date = new Date(time * 1000);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months, 1) / 1000;
}
