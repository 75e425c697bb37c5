import type { HealthMetric } from "../../../protocol/link/device-health.ts";
import { combineSpreads, type HealthRow, type HealthSpreads } from "../../../protocol/link/health-points.ts";

/** What was measured at one moment; what could not be is absent. */
export type HealthSample = Partial<Record<HealthMetric, number>>;

/** What was measured in five minutes, with the time at which it was complete. */
export interface NumberedHealthRow extends HealthRow {
  /** Counts the rows of a device, from 1. */
  readonly number: number;
}

/** Combines samples, to tenths. */
export function spreadsOf(samples: readonly HealthSample[]): HealthSpreads {
  return combineSpreads(
    samples.map((sample) =>
      Object.fromEntries(Object.entries(sample).map(([metric, value]) => [metric, [value, value, value] as const])),
    ),
  );
}
