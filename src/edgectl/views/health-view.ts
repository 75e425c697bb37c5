import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatDuration, formatMinute } from "../../lib/terminal/time.ts";
import type { AssetHealth } from "../api/history.ts";

/** Headers and units of the metrics; others are shown as they are called. */
const KNOWN: Readonly<Record<string, readonly [header: string, unit: string]>> = {
  cpu_percent: ["CPU", " %"],
  memory_percent: ["MEMORY", " %"],
  swap_percent: ["SWAP", " %"],
  disk_percent: ["DISK", " %"],
  inodes_percent: ["INODES", " %"],
  temperature_celsius: ["TEMP", " °C"],
  throttled_percent: ["THROTTLED", " %"],
  signal_percent: ["SIGNAL", " %"],
  rsrp_dbm: ["RSRP", " dBm"],
  rsrq_db: ["RSRQ", " dB"],
  sinr_db: ["SINR", " dB"],
  roaming_percent: ["ROAMING", " %"],
  mobile_generation: ["NETWORK", "G"],
};

/** Renders a table with a row for each point: means, with the highest values where they differ. @param away about the device */
export function renderHealth(
  health: AssetHealth,
  away: string | undefined,
  theme: Theme,
  width: number | undefined,
): string {
  const { at, series, interval_s: interval, source } = health;
  const apps = health.apps ? renderApps(health.apps, theme, width) : [];
  const notes = away === undefined ? [] : [away];
  if (at.length === 0) {
    const first = away === undefined ? " The first row is there five minutes after an agent starts." : "";
    return [`There are no samples of this time.${first}`, ...notes, ...apps].join("\n\n");
  }
  const who = source === "device" ? "asked of the device" : "as the device has sent it to the service";
  const columns: Column<number>[] = [
    { header: "FROM (UTC)", cell: (index) => formatMinute(at[index] ?? 0) },
    ...series.map(({ metric, mean, max }): Column<number> => {
      const [header, unit] = KNOWN[metric] ?? [sanitizeLine(metric), ""];
      return { header, align: "right", cell: (index) => valueOf(mean[index], max[index], unit) };
    }),
  ];
  return [
    `Means of ${formatDuration(interval)}, and the highest value where it differs; ${who}`,
    "",
    renderTable(columns, [...at.keys()], theme, width),
    ...[...apps, ...notes].flatMap((part) => ["", part]),
  ].join("\n");
}

/** Says since when a device has been away, and what it measured last. @param sent what it has sent up to then */
export function describeAbsence(lastSeen: number | null | undefined, sent: AssetHealth | undefined): string {
  if (typeof lastSeen !== "number") return "The device has never been connected.";
  const away = `The device has been away since ${formatMinute(lastSeen)} UTC`;
  const newest = sent?.at.at(-1);
  if (sent === undefined || newest === undefined) return `${away}, and had sent nothing of the day before.`;
  const figures = sent.series.flatMap(({ metric, mean }) => {
    const [header, unit] = KNOWN[metric] ?? [sanitizeLine(metric), ""];
    const value = valueOf(mean.at(-1), undefined, unit);
    return value === "-" ? [] : [`${header} ${value}`];
  });
  return `${away}. The last that it has sent is of ${formatMinute(newest)}: ${figures.join(", ")}.`;
}

/** A table for each app, with the rows in which it was measured. */
function renderApps(
  { at, apps, interval_s: interval, omitted_apps: omitted }: NonNullable<AssetHealth["apps"]>,
  theme: Theme,
  width: number | undefined,
): string[] {
  if (apps.length === 0) return ["No app was measured in this time."];
  const tables = apps.map(({ app, cpu_percent: cpu, memory_bytes: memory, restarts }) => {
    const columns: Column<number>[] = [
      { header: "FROM (UTC)", cell: (index) => formatMinute(at[index] ?? 0) },
      { header: "CPU", align: "right", cell: (index) => peakOf(cpu, index, (value) => `${roundCpu(value)} %`) },
      { header: "MEMORY", align: "right", cell: (index) => peakOf(memory, index, formatBytes) },
      { header: "RESTARTS", align: "right", cell: (index) => String(restarts[index] ?? "-") },
    ];
    const measured = [...at.keys()].filter((index) => restarts[index] !== null);
    return `${sanitizeLine(app)}, means of ${formatDuration(interval)}\n\n${renderTable(columns, measured, theme, width)}`;
  });
  return omitted === 0 ? tables : [...tables, `${omitted} more apps, with less memory, are left out.`];
}

type Values = readonly (number | null)[];

function peakOf(
  { mean, max }: { readonly mean: Values; readonly max: Values },
  index: number,
  format: (value: number) => string,
): string {
  const value = mean[index] ?? null;
  if (value === null) return "-";
  const [middle, highest] = [format(value), format(max[index] ?? value)];
  return middle === highest ? middle : `${middle} / ${highest}`;
}

/** A resting app has tenths of a percent. */
function roundCpu(percent: number): number {
  return percent < 10 ? Math.round(percent * 10) / 10 : Math.round(percent);
}

function valueOf(mean: number | null | undefined, max: number | null | undefined, unit: string): string {
  if (mean === null || mean === undefined) return "-";
  const [middle, highest] = [Math.round(mean), Math.round(max ?? mean)];
  return middle === highest ? `${middle}${unit}` : `${middle} / ${highest}${unit}`;
}
