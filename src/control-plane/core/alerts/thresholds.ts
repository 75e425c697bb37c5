import { HEALTH_CONDITIONS } from "../../../protocol/alerts/condition.ts";
import { DEFAULT_THRESHOLDS, thresholdsByMetric } from "../../../protocol/alerts/default-thresholds.ts";
import type { AlertRule } from "../../../protocol/alerts/settings.ts";
import { REPORTED_HEALTH_METRICS } from "../../../protocol/link/device-health.ts";
import type { HealthThresholds } from "../../../protocol/link/health-thresholds.ts";
import type { AlertSubject } from "./alert.ts";
import { type ParsedRule, ruleFor } from "./evaluate.ts";

/** Whether the rule is about what devices measure. */
export function isAboutLevels({ condition }: Pick<AlertRule, "condition">): boolean {
  return HEALTH_CONDITIONS.some((other) => other === condition);
}

/** Returns what the device of an asset tells at once by the rules of its account; `undefined` if that is as by default. */
export function thresholdsFor(rules: readonly ParsedRule[], subject: AlertSubject): HealthThresholds | undefined {
  const wanted = thresholdsByMetric((condition) => {
    const { enabled, above, forMs } = ruleFor(rules, { condition, subject });
    return enabled && above !== undefined ? [above, forMs / 1000] : undefined;
  });
  const differing = REPORTED_HEALTH_METRICS.filter(
    (metric) => String(wanted[metric]) !== String(DEFAULT_THRESHOLDS[metric]),
  );
  if (differing.length === 0) return undefined;
  return Object.fromEntries(differing.map((metric) => [metric, wanted[metric]]));
}
