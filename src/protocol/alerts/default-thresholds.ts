import { REPORTED_HEALTH_METRICS } from "../link/device-health.ts";
import type { HealthThreshold, HealthThresholds } from "../link/health-thresholds.ts";
import { ALERT_CONDITIONS, HEALTH_CONDITIONS, type HealthCondition } from "./condition.ts";

/** Returns the thresholds of the conditions of what devices measure, by metric. @param of `undefined`: the condition is off */
export function thresholdsByMetric(of: (condition: HealthCondition) => HealthThreshold | undefined): HealthThresholds {
  return Object.fromEntries(
    REPORTED_HEALTH_METRICS.map((metric) => {
      const conditions = HEALTH_CONDITIONS.filter((condition) => ALERT_CONDITIONS[condition].above.metric === metric);
      return [metric, conditions.map(of).filter((threshold) => threshold !== undefined)];
    }),
  );
}

/** Those that hold unless an account has rules. */
export const DEFAULT_THRESHOLDS: HealthThresholds = thresholdsByMetric((condition) => {
  const { enabled, above, forS } = ALERT_CONDITIONS[condition];
  return enabled ? [above.value, forS] : undefined;
});
