import type { Granularity } from "../../../protocol/assets/usage.ts";
import { periodOf, type TimeRange } from "../usage-period.ts";
import type { UsageTotal } from "../usage-view.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;

/** Bytes in one bucket from `start` on, in Unix seconds. */
export interface CountedUsage {
  readonly bucket: string;
  readonly start: number;
  readonly bytes: number;
}

/** The periods in which operators count. */
export type UsagePeriod = "hour" | "day";

/** A part of a range that an operator is asked for in these periods. */
export interface RangePart extends TimeRange {
  readonly period: UsagePeriod;
}

/**
 * Divides a range so that it is counted to the hour with few periods: whole days in UTC, and the hours before and after them. A
 * period counts where it begins, so the ends are the next full hours.
 */
export function partsOf({ start, end }: TimeRange): readonly RangePart[] {
  const from = ceilTo(start, HOUR);
  const to = ceilTo(end, HOUR);
  const firstDay = Math.min(ceilTo(from, DAY), to);
  const lastDay = Math.max(to - (to % DAY), firstDay);
  const parts: RangePart[] = [
    { start: from, end: firstDay, period: "hour" },
    { start: firstDay, end: lastDay, period: "day" },
    { start: lastDay, end: to, period: "hour" },
  ];
  return parts.filter((part) => part.start < part.end);
}

/** The hours that begin within the range. */
export function hoursOf({ start, end }: TimeRange): TimeRange {
  return { start: ceilTo(start, HOUR), end: ceilTo(end, HOUR) };
}

/** The days in UTC that begin within the range; empty if none does. */
export function daysOf({ start, end }: TimeRange): TimeRange {
  return { start: ceilTo(start, DAY), end: ceilTo(end, DAY) };
}

/** Sums by period and bucket, in this order. Empty periods are left out. At most 2^53 - 1 bytes each. */
export function sumUsage(counted: Iterable<CountedUsage>, granularity: Granularity): readonly UsageTotal[] {
  const totals = new Map<string, UsageTotal>();
  for (const { bucket, start, bytes } of counted) {
    if (bytes === 0) continue;
    const periodStart = granularity === "all" ? undefined : periodOf(start, granularity).start;
    const key = `${periodStart} ${bucket}`;
    const sum = (totals.get(key)?.bytes ?? 0) + bytes;
    totals.set(key, { bucket, periodStart, bytes: Math.min(sum, Number.MAX_SAFE_INTEGER) });
  }
  return [...totals.values()].toSorted(
    (one, other) => (one.periodStart ?? 0) - (other.periodStart ?? 0) || compareTexts(one.bucket, other.bucket),
  );
}

function compareTexts(one: string, other: string): number {
  if (one === other) return 0;
  return one < other ? -1 : 1;
}

function ceilTo(time: number, step: number): number {
  return Math.ceil(time / step) * step;
}
