import { ALERT_CONDITIONS, HEALTH_CONDITIONS, type HealthCondition } from "../../../protocol/alerts/condition.ts";
import { secondsBeyond, type Threshold, withMargin } from "../../../protocol/alerts/level-time.ts";
import type { ParsedRule } from "./evaluate.ts";

/** What a device measured on average within 15 minutes. Unix milliseconds. */
export interface Level {
  readonly fromMs: number;
  readonly untilMs: number;
  readonly value: number;
}

/** Returns how long levels count without a gap, up to the newest one; `undefined` if that does not. @param levels the oldest first */
export function timeBeyond(
  levels: readonly Level[],
  threshold: Threshold,
): { readonly fromMs: number; readonly untilMs: number } | undefined {
  const values: number[] = [];
  let next: Level | undefined;
  for (const level of levels.toReversed()) {
    if (next !== undefined && level.untilMs !== next.fromMs) break;
    values.push(level.value);
    next = level;
  }
  const lastingMs = secondsBeyond(values, threshold) * 1000;
  const untilMs = levels.at(-1)?.untilMs ?? 0;
  return lastingMs > 0 ? { fromMs: untilMs - lastingMs, untilMs } : undefined;
}

/** Returns for each condition the widest limit by which there may be an alert, with its margin; those that are off are absent. */
export function widestLimits(rules: readonly ParsedRule[]): ReadonlyMap<HealthCondition, number> {
  const found = new Map<HealthCondition, number>();
  for (const condition of HEALTH_CONDITIONS) {
    const { level, enabled } = ALERT_CONDITIONS[condition];
    const { side, limit } = level;
    const set = rules.filter((rule) => rule.condition === condition && rule.enabled !== false);
    const limits = [...(enabled ? [limit] : []), ...set.map((rule) => rule[side] ?? limit)];
    if (limits.length === 0) continue;
    const widest = side === "above" ? Math.min(...limits) : Math.max(...limits);
    found.set(condition, withMargin({ side, limit: widest }));
  }
  return found;
}
