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
    const { enabled, limit, forMs } = ruleFor(rules, { condition, subject });
    return enabled && limit !== undefined ? [limit, forMs / 1000] : undefined;
  });
  const above = differing(wanted, DEFAULT_THRESHOLDS);
  const below = differing(wanted.below, DEFAULT_THRESHOLDS.below);
  return above || below ? { ...above, ...(below && { below }) } : undefined;
}

function differing(
  wanted: HealthThresholds["below"] & object,
  byDefault: HealthThresholds["below"] & object,
): HealthThresholds["below"] {
  const metrics = REPORTED_HEALTH_METRICS.filter((metric) => String(wanted[metric]) !== String(byDefault[metric]));
  return metrics.length === 0 ? undefined : Object.fromEntries(metrics.map((metric) => [metric, wanted[metric]]));
}
