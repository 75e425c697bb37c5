import type { AppUsage } from "../../protocol/apps/app-stats.ts";
import { formatBytes, formatBytesOrDash } from "./bytes.ts";
import { sanitizeLine } from "./sanitize.ts";
import { renderTable } from "./table.ts";
import type { Theme } from "./theme.ts";

/** Explains the columns, for the help of the commands. */
export const APP_STATS_HELP = `CPU is in percent of one processor. NET is what the app received and sent, DISK
what it read and wrote: per second with --live, and otherwise since its
container was started. SIZE is what it changed in its own file system, without
its volumes. "-" is not known: of an app that does not run or, for NET, one in
the device's network.`;

/** What the table shows of one app. */
export type AppUsageRow = Omit<AppUsage, "state"> & { readonly state: string };

/**
 * Renders what the apps use, one line for each.
 *
 * @param isLive shows rates in place of sums and sizes
 */
export function renderAppStats(
  { apps, omitted_apps: omitted }: { readonly apps: readonly AppUsageRow[]; readonly omitted_apps: number },
  { isLive, theme, width }: { readonly isLive: boolean; readonly theme: Theme; readonly width: number | undefined },
): string {
  if (apps.length === 0) return "No apps on this device.";
  const unit = isLive ? "/s" : "";
  const columns = [
    { header: "APP", cell: ({ app }: AppUsageRow) => sanitizeLine(app), canShrink: true as const },
    {
      header: "STATE",
      cell: ({ state }: AppUsageRow) => sanitizeLine(state),
      paint: (text: string, { state }: AppUsageRow) => (state === "running" ? theme.green(text) : theme.red(text)),
    },
    right("CPU %", ({ cpu_percent }) => cpu_percent?.toFixed(1) ?? "-"),
    right("MEMORY", ({ memory_bytes }) => formatBytesOrDash(memory_bytes)),
    right(`NET in/out${unit}`, ({ network }) =>
      isLive
        ? pair(network?.received_bytes_per_s, network?.sent_bytes_per_s)
        : pair(network?.received_bytes, network?.sent_bytes),
    ),
    right(`DISK read/written${unit}`, ({ disk }) =>
      isLive ? pair(disk?.read_bytes_per_s, disk?.written_bytes_per_s) : pair(disk?.read_bytes, disk?.written_bytes),
    ),
    ...(isLive ? [] : [right("SIZE", ({ writable_bytes }) => formatBytesOrDash(writable_bytes))]),
    right("PIDS", ({ processes }) => (processes === null ? "-" : String(processes))),
  ];
  const table = renderTable<AppUsageRow>(columns, apps, theme, width);
  return omitted > 0 ? `${table}\n${omitted} more apps are left out.` : table;
}

function right(header: string, cell: (app: AppUsageRow) => string) {
  return { header, cell, align: "right" as const };
}

function pair(one: number | null | undefined, other: number | null | undefined): string {
  return one == null || other == null ? "-" : `${formatBytes(one)}/${formatBytes(other)}`;
}
