import type { AssetHealth } from "../../../protocol/api-types.ts";

type Series = AssetHealth["series"][number];
export type HealthMetric = Series["metric"];

interface MetricText {
  readonly label: string;
  readonly unit: string;
  /** Shares are drawn on the whole scale, so that a small change looks small. */
  readonly scale?: readonly [low: number, high: number];
}

const percent = (label: string): MetricText => ({ label, unit: "%", scale: [0, 100] });

/** What devices measure, in the order of display. */
export const METRICS: Readonly<Record<HealthMetric, MetricText>> = {
  temperature_celsius: { label: "Temperature", unit: "°C" },
  cpu_percent: percent("Processors"),
  memory_percent: percent("Memory"),
  swap_percent: percent("Swap"),
  disk_percent: percent("Disk"),
  inodes_percent: percent("Inodes of the disk"),
  signal_percent: percent("Signal of the modem"),
  roaming_percent: percent("Roaming"),
  mobile_generation: { label: "Generation of the mobile network", unit: "G", scale: [2, 5] },
  throttled_percent: percent("Processor throttled"),
  rsrp_dbm: { label: "RSRP", unit: "dBm" },
  rsrq_db: { label: "RSRQ", unit: "dB" },
  sinr_db: { label: "SINR", unit: "dB" },
};

export const METRIC_NAMES = Object.keys(METRICS) as readonly HealthMetric[];

/** A chart's space, in its own units. */
export const CHART = { width: 600, height: 96 } as const;

/** What a chart shows of one metric. */
export interface Chart {
  /** Paths of the means, and of the areas from the lowest to the highest values. Where nothing was measured there is none. */
  readonly lines: string;
  readonly areas: string;
  readonly low: number;
  readonly high: number;
  /** The newest mean; `undefined` if nothing was measured. */
  readonly latest: number | undefined;
  readonly lowest: number | undefined;
  readonly highest: number | undefined;
}

interface Point {
  readonly at: number;
  readonly min: number;
  readonly mean: number;
  readonly max: number;
}

/** Returns the points of a series that were measured, in runs without a gap. */
export function runsOf(
  { at, interval_s: intervalS }: Pick<AssetHealth, "at" | "interval_s">,
  series: Series,
): Point[][] {
  const runs: Point[][] = [];
  for (const [index, start] of at.entries()) {
    const { [index]: min } = series.min;
    const { [index]: mean } = series.mean;
    const { [index]: max } = series.max;
    if (typeof min !== "number" || typeof mean !== "number" || typeof max !== "number") continue;
    const last = runs.at(-1);
    const isNext = last?.at(-1)?.at === start - intervalS;
    if (last && isNext) last.push({ at: start, min, mean, max });
    else runs.push([{ at: start, min, mean, max }]);
  }
  return runs;
}

/** Returns the chart of a series over a range of time, in Unix seconds. */
export function chartOf(
  health: Pick<AssetHealth, "at" | "interval_s">,
  series: Series,
  from: number,
  to: number,
): Chart {
  const runs = runsOf(health, series);
  const points = runs.flat();
  const lowest = points.length > 0 ? Math.min(...points.map(({ min }) => min)) : undefined;
  const highest = points.length > 0 ? Math.max(...points.map(({ max }) => max)) : undefined;
  const [low, high] = METRICS[series.metric].scale ?? padded(lowest ?? 0, highest ?? 1);
  const x = (at: number): number => round((Math.min(Math.max(at, from), to) - from) * (CHART.width / (to - from)));
  const y = (value: number): number => round(CHART.height - ((value - low) / (high - low)) * CHART.height);
  const { interval_s: intervalS } = health;
  const lines: string[] = [];
  const areas: string[] = [];
  for (const run of runs) {
    // A point stands for its whole interval: one alone is a line, too.
    const edges = run.flatMap((point) => [
      { ...point, x: x(point.at) },
      { ...point, x: x(point.at + intervalS) },
    ]);
    lines.push(`M${edges.map((edge) => `${edge.x} ${y(edge.mean)}`).join("L")}`);
    const upper = edges.map((edge) => `${edge.x} ${y(edge.max)}`);
    const lower = edges.toReversed().map((edge) => `${edge.x} ${y(edge.min)}`);
    areas.push(`M${[...upper, ...lower].join("L")}Z`);
  }
  return { lines: lines.join(""), areas: areas.join(""), low, high, latest: points.at(-1)?.mean, lowest, highest };
}

/** A scale of whole tens around the values. */
function padded(lowest: number, highest: number): readonly [number, number] {
  const low = Math.floor(lowest / 10) * 10;
  return [low, Math.max(low + 10, Math.ceil(highest / 10) * 10)];
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** Formats a value with its unit: `61 °C`. */
export function formatValue(metric: HealthMetric, value: number): string {
  return `${Math.round(value).toLocaleString("en")} ${METRICS[metric].unit}`;
}
