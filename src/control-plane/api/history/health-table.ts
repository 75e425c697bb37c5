import { type AssetHealth, HEALTH_METRICS } from "../../../protocol/link/device-health.ts";
import { csvTime, toCsv } from "../../../lib/csv.ts";

/** Every metric, whether the device has it or not: the columns of one table are those of the next. */
const COLUMNS = [
  "from",
  "to",
  ...HEALTH_METRICS.flatMap((metric) => [`${metric}_min`, `${metric}_mean`, `${metric}_max`]),
];
const APP_COLUMNS = [
  "from",
  "to",
  "app",
  "cpu_percent_mean",
  "cpu_percent_max",
  "memory_bytes_mean",
  "memory_bytes_max",
  "restarts",
] as const;
export const HEALTH_EXAMPLE = toCsv(COLUMNS, [
  ["2026-11-20T10:00:00Z", "2026-11-20T10:15:00Z", 1, 2.5, 80, ...COLUMNS.slice(5).map(() => null)],
]);

/** A row for each point. */
export function healthTable({ at, series, interval_s: interval }: AssetHealth): string {
  const bySeries = new Map(series.map((one) => [one.metric, one]));
  const rows = at.map((from, index) => [
    csvTime(from),
    csvTime(from + interval),
    ...HEALTH_METRICS.flatMap((metric) => {
      const one = bySeries.get(metric);
      return [one?.min[index], one?.mean[index], one?.max[index]];
    }),
  ]);
  return toCsv(COLUMNS, rows);
}

/** A row for each app and point at which it was measured. */
export function appHealthTable({ apps: used }: AssetHealth): string {
  if (!used) return toCsv(APP_COLUMNS, []);
  const { at, apps, interval_s: interval } = used;
  const rows = apps.flatMap(({ app, cpu_percent: cpu, memory_bytes: memory, restarts }) =>
    at.flatMap((from, index) => {
      const figures = [cpu.mean[index], cpu.max[index], memory.mean[index], memory.max[index], restarts[index]];
      if (figures.every((figure) => figure === null || figure === undefined)) return [];
      return [[csvTime(from), csvTime(from + interval), app, ...figures]];
    }),
  );
  return toCsv(APP_COLUMNS, rows);
}
