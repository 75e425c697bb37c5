import type { Granularity, ProSimUsage, SuperSimUsage } from "../../protocol/usage.ts";
import { clipPeriod, type TimeRange } from "./usage-period.ts";

/** Sum over one bucket, and over one period unless the granularity was `all`. */
export interface UsageTotal {
  /** Network group of a Super SIM, service profile of a PRO SIM. */
  readonly bucket: string;
  /** Start of the period in Unix seconds, not cut to the range; `undefined` with granularity `all`. */
  readonly periodStart: number | undefined;
  /** Never above 2^53 - 1, the largest integer every JSON reader agrees on. */
  readonly bytes: number;
}

/** What a usage answer is made of. Times are Unix seconds. */
export interface Usage {
  readonly range: TimeRange;
  readonly granularity: Granularity;
  readonly finalizedUntil: number;
  readonly totals: readonly UsageTotal[];
}

/** Usage as the API shows it for a Super SIM: per network group. */
export function toSuperSimUsage(usage: Usage): SuperSimUsage {
  const usages = usage.totals.map((total) => ({ network_group: total.bucket, ...toEntry(usage, total) }));
  return { ...toHead(usage), usages };
}

/** Usage as the API shows it for a PRO SIM: per service profile. */
export function toProSimUsage(usage: Usage): ProSimUsage {
  const usages = usage.totals.map((total) => ({ service_profile: total.bucket, ...toEntry(usage, total) }));
  return { ...toHead(usage), usages };
}

function toHead({ range, finalizedUntil }: Usage) {
  return { start_time: range.start, end_time: range.end, finalized_until: finalizedUntil };
}

function toEntry({ granularity, range }: Usage, { bytes, periodStart }: UsageTotal) {
  if (granularity === "all" || periodStart === undefined) return { total: bytes };
  const { start, end } = clipPeriod(periodStart, granularity, range);
  return { total: bytes, start_time: start, end_time: end };
}
