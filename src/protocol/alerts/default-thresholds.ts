import { REPORTED_HEALTH_METRICS } from "../link/device-health.ts";
import type { HealthThreshold, HealthThresholds } from "../link/health-thresholds.ts";
import { ALERT_CONDITIONS, HEALTH_CONDITIONS, type HealthCondition, type LevelLimit } from "./condition.ts";

type ByMetric = HealthThresholds["below"] & object;

/** Returns the thresholds of the conditions of what devices measure, by metric. @param of `undefined`: the condition is off */
export function thresholdsByMetric(
  of: (condition: HealthCondition) => HealthThreshold | undefined,
): ByMetric & { readonly below: ByMetric } {
  const onSide = (side: LevelLimit["side"]): ByMetric =>
    Object.fromEntries(
      REPORTED_HEALTH_METRICS.map((metric) => {
        const conditions = HEALTH_CONDITIONS.filter((condition) => {
          const { level } = ALERT_CONDITIONS[condition];
          return level.metric === metric && level.side === side;
        });
        return [metric, conditions.map(of).filter((threshold) => threshold !== undefined)];
      }),
    );
  return { ...onSide("above"), below: onSide("below") };
}

/** Those that hold unless an account has rules. */
export const DEFAULT_THRESHOLDS = thresholdsByMetric((condition) => {
  const { enabled, level, forS } = ALERT_CONDITIONS[condition];
  return enabled ? [level.limit, forS] : undefined;
});
