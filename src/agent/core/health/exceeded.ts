import { DEFAULT_THRESHOLDS } from "../../../protocol/alerts/default-thresholds.ts";
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
    for (const [above, forS] of told?.[metric] ?? DEFAULT_THRESHOLDS[metric] ?? []) {
      const lastingS = countAbove(rows, metric, above) * HEALTH_REPORT_ROW_S;
      if (lastingS > 0 && lastingS >= forS) found.add(`${metric} ${above} ${forS}`);
    }
  }
  return found;
}

/** Returns how many of the newest rows follow each other without a gap, and are above the value. */
function countAbove(rows: readonly HealthRow[], metric: ReportedHealthMetric, above: number): number {
  let count = 0;
  for (const { at, spreads } of rows.toReversed()) {
    const mean = spreads[metric]?.[1];
    const follows = at === (rows.at(-1)?.at ?? 0) - count * HEALTH_REPORT_ROW_S;
    if (!follows || mean === undefined || Math.round(mean) <= above) break;
    count++;
  }
  return count;
}
