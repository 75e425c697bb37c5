import { type DeviceHealth, HEALTH_METRICS, type HealthMetric, type HealthParams } from "./device-health.ts";

/** The lowest value, the mean and the highest of several samples. */
export type Spread = readonly [min: number, mean: number, max: number];

/** What was measured in some time; what could not be is absent. */
export type HealthSpreads = Partial<Record<HealthMetric, Spread>>;

/** Which points are asked for: a time, and their maximum number. */
export type PointRange = Pick<HealthParams, "from" | "to" | "points">;

/** What was measured, with its time in Unix seconds. */
export interface HealthRow {
  readonly at: number;
  readonly spreads: HealthSpreads;
}

/**
 * Returns the rows of a range as at most `points` points, each the start of an interval that is the same for every device. The
 * order of the rows does not matter, so that a clock that was wrong mixes nothing up.
 *
 * @param rowS seconds that one row covers
 */
export function pointsOf(rows: readonly HealthRow[], { from, to, points }: PointRange, rowS: number): DeviceHealth {
  const interval = intervalOf({ from, to, points }, rowS);
  const found = combineRows(
    rows.filter(({ at }) => at >= from && at < to),
    interval,
  );
  const measured = HEALTH_METRICS.filter((metric) => found.some(({ spreads }) => spreads[metric] !== undefined));
  const column = (metric: HealthMetric, index: 0 | 1 | 2): (number | null)[] =>
    found.map(({ spreads }) => spreads[metric]?.[index] ?? null);
  return {
    interval_s: interval,
    at: found.map(({ at }) => at),
    series: measured.map((metric) => ({
      metric,
      min: column(metric, 0),
      mean: column(metric, 1),
      max: column(metric, 2),
    })),
  };
}

/** Returns the seconds of each of at most `points` points of the range: a multiple of those of a row. */
export function intervalOf({ from, to, points }: PointRange, rowS: number): number {
  let interval = Math.max(1, Math.ceil((to - from) / points / rowS)) * rowS;
  while ((startOf(Math.max(from, to - 1), interval) - startOf(from, interval)) / interval + 1 > points)
    interval += rowS;
  return interval;
}

/** Start of the interval of a time. */
export function startOf(at: number, intervalS: number): number {
  return Math.floor(at / intervalS) * intervalS;
}

/** Returns one row for each interval that has rows, with its start, in order. */
export function combineRows(rows: readonly HealthRow[], intervalS: number): HealthRow[] {
  return [...Map.groupBy(rows, ({ at }) => startOf(at, intervalS))]
    .toSorted(([one], [other]) => one - other)
    .map(([at, group]) => ({ at, spreads: combineSpreads(group.map(({ spreads }) => spreads)) }));
}

/** Combines what was measured in times of one length, to tenths. */
export function combineSpreads(all: readonly HealthSpreads[]): HealthSpreads {
  const combined: HealthSpreads = {};
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
