import type { TrafficEntry } from "./entry.ts";
import { type Day, daysBefore, monthOf, nextMonthMs } from "./day.ts";
import type { NetworkKind } from "./network-kind.ts";

const DAY_MS = 86_400_000;
/** Whole days whose median the forecast is based on: each weekday once. */
const JUDGED_DAYS = 7;
/** A forecast that was above the budget must fall below this share of it, so that one about the budget is not told again and again. */
const SAFE_SHARE = 0.9;

/** Returns the first day that a forecast needs. */
export function forecastFrom(today: Day): Day {
  const [month, judged] = [monthOf(today), daysBefore(today, JUDGED_DAYS)];
  return month < judged ? month : judged;
}

export interface BudgetQuestion {
  /** Traffic from `forecastFrom` on. */
  readonly traffic: readonly TrafficEntry[];
  readonly metered: readonly NetworkKind[];
  readonly monthlyBytes: number;
  readonly today: Day;
  readonly nowMs: number;
  /** As it was judged last. */
  readonly wasLow: boolean;
}

/**
 * Whether the budget of the month is spent, or will be before the month ends, if each day is as the median of the last seven whole
 * days: a large download is no habit, one on most days is. Days without traffic have 0 bytes.
 */
export function isBudgetLow({ traffic, metered, monthlyBytes, today, nowMs, wasLow }: BudgetQuestion): boolean {
  const byDay = new Map<Day, number>();
  for (const { day, network, sent, received, overhead } of traffic)
    if (metered.includes(network)) byDay.set(day, (byDay.get(day) ?? 0) + sent + received + overhead);
  let used = 0;
  for (const [day, bytes] of byDay) if (day >= monthOf(today) && day <= today) used += bytes;
  const days = Array.from({ length: JUDGED_DAYS }, (_, index) => byDay.get(daysBefore(today, index + 1)) ?? 0);
  const [median = 0] = days.toSorted((one, other) => one - other).slice((JUDGED_DAYS - 1) / 2);
  const forecast = used + (median * (nextMonthMs(nowMs) - nowMs)) / DAY_MS;
  return used >= monthlyBytes || forecast >= monthlyBytes * (wasLow ? SAFE_SHARE : 1);
}
