import { ALERT_CONDITIONS, HEALTH_CONDITIONS } from "../../../protocol/alerts/condition.ts";
import type { HealthMetric } from "../../../protocol/link/device-health.ts";
import type { ParsedRule } from "./evaluate.ts";

/** What a device measured on average within some time. Unix milliseconds. */
export interface Level {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly value: number;
}

/** Returns how long the value has been above another one without a gap, up to the newest level; `undefined` if it is not now. */
export function timeAbove(
  levels: readonly Level[],
  above: number,
): { readonly fromMs: number; readonly untilMs: number } | undefined {
  const newest = levels.at(-1);
  if (!newest || newest.value <= above) return undefined;
  let { fromMs } = newest;
  for (const { fromMs: earlier, untilMs, value } of levels.slice(0, -1).toReversed()) {
    if (untilMs !== fromMs || value <= above) break;
    fromMs = earlier;
  }
  return { fromMs, untilMs: newest.untilMs };
}

/** Returns for each metric the lowest value above which there may be an alert; those that no condition is about are absent. */
export function lowestThresholds(rules: readonly ParsedRule[]): ReadonlyMap<HealthMetric, number> {
  const lowest = new Map<HealthMetric, number>();
  for (const condition of HEALTH_CONDITIONS) {
    const { above, enabled } = ALERT_CONDITIONS[condition];
    const set = rules.filter((rule) => rule.condition === condition && rule.enabled !== false);
    const values = [...(enabled ? [above.value] : []), ...set.map((rule) => rule.above ?? above.value)];
    // Several conditions may be about one metric.
    if (values.length > 0) lowest.set(above.metric, Math.min(lowest.get(above.metric) ?? Infinity, ...values));
  }
  return lowest;
}
