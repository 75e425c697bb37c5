import { DEFAULT_THRESHOLDS } from "../../../protocol/alerts/default-thresholds.ts";
import { secondsBeyond } from "../../../protocol/alerts/level-time.ts";
import { REPORTED_HEALTH_METRICS, type ReportedHealthMetric } from "../../../protocol/link/device-health.ts";
import type { HealthRow } from "../../../protocol/link/health-points.ts";
import { HEALTH_REPORT_ROW_S } from "../../../protocol/link/health-rows.ts";
import type { HealthThresholds } from "../../../protocol/link/health-thresholds.ts";

/**
 * Judges rows of 15 minutes as the service does. Returns the thresholds that they exceed for long enough, up to the newest.
 *
 * @param rows in order
 * @param told what the service has said, where that differs from the defaults
 */
export function exceeded(rows: readonly HealthRow[], told: HealthThresholds | undefined): ReadonlySet<string> {
  const found = new Set<string>();
  for (const metric of REPORTED_HEALTH_METRICS) {
    const levels = newestLevels(rows, metric);
    const above = told?.[metric] ?? DEFAULT_THRESHOLDS[metric] ?? [];
    const below = told?.below?.[metric] ?? DEFAULT_THRESHOLDS.below[metric] ?? [];
    for (const [side, thresholds] of [["above", above] as const, ["below", below] as const]) {
      for (const [limit, forS] of thresholds) {
        const lastingS = secondsBeyond(levels, { side, limit, forS });
        if (lastingS > 0 && lastingS >= forS) found.add(`${metric} ${side} ${limit} ${forS}`);
      }
    }
  }
  return found;
}

/** Returns the means of the newest rows that follow each other without a gap, the newest first, in whole numbers as they are sent. */
function newestLevels(rows: readonly HealthRow[], metric: ReportedHealthMetric): readonly number[] {
  const levels: number[] = [];
  for (const { at, spreads } of rows.toReversed()) {
    const mean = spreads[metric]?.[1];
    const follows = at === (rows.at(-1)?.at ?? 0) - levels.length * HEALTH_REPORT_ROW_S;
    if (!follows || mean === undefined) break;
    levels.push(Math.round(mean));
  }
  return levels;
}
