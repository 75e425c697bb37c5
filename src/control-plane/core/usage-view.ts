import type { Granularity, ProSimUsage, SuperSimUsage } from "../../protocol/assets/usage.ts";
import { clipPeriod, type TimeRange } from "./usage-period.ts";

/** Sum for one bucket, and for one period unless the granularity is `all`. */
export interface UsageTotal {
  /** Network group of a Super SIM, service profile of a PRO SIM. */
  readonly bucket: string;
  /** Start of the period in Unix seconds, may be before the range; `undefined` with granularity `all`. */
  readonly periodStart: number | undefined;
  /** At most 2^53 - 1, the largest integer that is safe in JSON. */
  readonly bytes: number;
}

/** The content of a usage response. Times are Unix seconds. */
export interface Usage {
  readonly range: TimeRange;
  readonly granularity: Granularity;
  readonly finalizedUntil: number;
  readonly totals: readonly UsageTotal[];
  /** When the operator said the last of it; `undefined` where usage is imported. */
  readonly asOf?: number | undefined;
}

/** Returns the usage of a Super SIM for the API, by network group. */
export function toSuperSimUsage(usage: Usage): SuperSimUsage {
  const usages = usage.totals.map((total) => ({ network_group: total.bucket, ...toEntry(usage, total) }));
  return { ...toHead(usage), usages };
}

/** Returns the usage of a PRO SIM for the API, by service profile. */
export function toProSimUsage(usage: Usage): ProSimUsage {
  const usages = usage.totals.map((total) => ({ service_profile: total.bucket, ...toEntry(usage, total) }));
  return { ...toHead(usage), usages };
}

function toHead({ range, finalizedUntil, asOf }: Usage) {
  return {
    start_time: range.start,
    end_time: range.end,
    // Otherwise it says more with each second, and nothing of this range.
    finalized_until: Math.min(finalizedUntil, range.end),
    ...(asOf !== undefined && { as_of: asOf }),
  };
}

function toEntry({ granularity, range }: Usage, { bytes, periodStart }: UsageTotal) {
  if (granularity === "all" || periodStart === undefined) return { total: bytes };
  const { start, end } = clipPeriod(periodStart, granularity, range);
  return { total: bytes, start_time: start, end_time: end };
}
