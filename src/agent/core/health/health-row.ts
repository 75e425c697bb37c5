import {
  type DeviceHealth,
  HEALTH_METRICS,
  HEALTH_ROW_S,
  type HealthMetric,
  type HealthParams,
} from "../../../protocol/link/device-health.ts";

/** What was measured at one moment; what could not be is absent. */
export type HealthSample = Partial<Record<HealthMetric, number>>;

/** The lowest value, the mean and the highest of several samples. */
export type Spread = readonly [min: number, mean: number, max: number];

/** What was measured in five minutes. */
export interface HealthRow {
  /** Counts the rows of a device, from 1. */
  readonly number: number;
  /** When it was complete. Unix seconds. */
  readonly at: number;
  readonly spreads: Partial<Record<HealthMetric, Spread>>;
}

/** Combines samples, to tenths. */
export function spreadsOf(samples: readonly HealthSample[]): HealthRow["spreads"] {
  return combine(
    samples.map((sample) =>
      Object.fromEntries(Object.entries(sample).map(([metric, value]) => [metric, [value, value, value] as const])),
    ),
  );
}

/**
 * Returns the rows of a range as at most `points` points, each the start of an interval that is the same for every device. The
 * order of the rows does not matter, so that a clock that was wrong mixes nothing up.
 */
export function pointsOf(rows: readonly HealthRow[], { from, to, points }: HealthParams): DeviceHealth {
  let interval = Math.max(1, Math.ceil((to - from) / points / HEALTH_ROW_S)) * HEALTH_ROW_S;
  const startOf = (at: number): number => Math.floor(at / interval) * interval;
  while ((startOf(Math.max(from, to - 1)) - startOf(from)) / interval + 1 > points) interval += HEALTH_ROW_S;
  const found = rows.filter(({ at }) => at >= from && at < to);
  const byStart = [...Map.groupBy(found, ({ at }) => startOf(at))].toSorted(([one], [other]) => one - other);
  const combined = byStart.map(([, group]) => combine(group.map(({ spreads }) => spreads)));
  const measured = HEALTH_METRICS.filter((metric) => combined.some((spreads) => spreads[metric] !== undefined));
  const column = (metric: HealthMetric, index: 0 | 1 | 2): (number | null)[] =>
    combined.map((spreads) => spreads[metric]?.[index] ?? null);
  return {
    interval_s: interval,
    at: byStart.map(([start]) => start),
    series: measured.map((metric) => ({
      metric,
      min: column(metric, 0),
      mean: column(metric, 1),
      max: column(metric, 2),
    })),
  };
}

function combine(all: readonly HealthRow["spreads"][]): HealthRow["spreads"] {
  const combined: Partial<Record<HealthMetric, Spread>> = {};
  for (const metric of HEALTH_METRICS) {
    const found = all.flatMap((one) => (one[metric] ? [one[metric]] : []));
    if (found.length === 0) continue;
    const mean = found.reduce((sum, [, value]) => sum + value, 0) / found.length;
    combined[metric] = [
      tenths(Math.min(...found.map(([min]) => min))),
      tenths(mean),
      tenths(Math.max(...found.map(([, , max]) => max))),
    ];
  }
  return combined;
}

function tenths(value: number): number {
  return Math.round(value * 10) / 10;
}
