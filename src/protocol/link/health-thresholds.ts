import { z } from "zod";
import {
  MAX_HEALTH_VALUE,
  MIN_HEALTH_VALUE,
  REPORTED_HEALTH_METRICS,
  type ReportedHealthMetric,
} from "./device-health.ts";

/** Thresholds of one metric, and the longest time of one, in seconds. */
const MAX_THRESHOLDS = 4;
export const MAX_THRESHOLD_S = 6 * 3_600;

/** A mean of 15 minutes above the value, or below it, for so many seconds without a gap: `[95, 900]`. It is sent each time a device connects. */
const thresholdSchema = z.tuple([
  z.int().min(MIN_HEALTH_VALUE).max(MAX_HEALTH_VALUE),
  z.int().min(0).max(MAX_THRESHOLD_S),
]);
export type HealthThreshold = z.output<typeof thresholdSchema>;

// What a newer control plane allows, and this device does not, leaves the default: it does not end the session.
const ofMetric = z.array(thresholdSchema).max(MAX_THRESHOLDS).optional().catch(undefined);

const byMetric = Object.fromEntries(REPORTED_HEALTH_METRICS.map((metric) => [metric, ofMetric])) as Record<
  ReportedHealthMetric,
  typeof ofMetric
>;

/**
 * By metric, what a device tells at once when it begins or ceases to be above, or below. A metric that is absent has the device's
 * default. Agents that do not know `below` tell of it with the hourly message.
 */
export const healthThresholdsSchema = z.object({
  ...byMetric,
  below: z.object(byMetric).optional().catch(undefined),
});
export type HealthThresholds = z.output<typeof healthThresholdsSchema>;
