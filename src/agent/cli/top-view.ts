import { formatBytes, formatBytesOrDash } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import type { Top } from "../local/api.ts";
import type { HostUsage } from "./host-usage.ts";
import { renderLink } from "./status-view.ts";

/** Resources an app used between two samples; `null` if unknown. */
export interface AppRates {
  readonly name: string;
  readonly state: string;
  readonly trouble: string | null;
  readonly restarts: number | null;
  /** Percent of one processor. */
  readonly cpu_percent: number | null;
  readonly memory_bytes: number | null;
  readonly received_bytes_per_s: number | null;
  readonly sent_bytes_per_s: number | null;
}

/** Computes the rates between two samples. There are none for the first sample, and for an app restarted in between. */
export function ratesBetween(before: Top | undefined, now: Top): AppRates[] {
  const seconds = before ? (now.at_ms - before.at_ms) / 1000 : 0;
  return now.apps.map(({ name, state, trouble, restarts, started_at, usage }) => {
    const earlier = before?.apps.find((app) => app.name === name && app.started_at === started_at)?.usage;
    const rate = (pick: (one: NonNullable<typeof usage>) => number | null): number | null => {
      const [then, current] = [earlier && pick(earlier), usage && pick(usage)];
      if (typeof then !== "number" || typeof current !== "number" || seconds <= 0) return null;
      return Math.max(0, current - then) / seconds;
    };
    const cpu = rate(({ cpu_ns }) => cpu_ns);
    return {
      name,
      state,
      trouble,
      restarts,
      cpu_percent: cpu === null ? null : Math.round(cpu / 1e6) / 10,
      memory_bytes: usage?.memory_bytes ?? null,
      received_bytes_per_s: rounded(rate(({ received_bytes }) => received_bytes)),
      sent_bytes_per_s: rounded(rate(({ sent_bytes }) => sent_bytes)),
    };
  });
}

/**
 * Formats the whole view: the device, then one line per app.
 *
 * @param width columns of the terminal; `undefined` to cut nothing
 */
export function renderTop(
  { link, disk }: Pick<Top, "link" | "disk">,
  machine: HostUsage,
  apps: readonly AppRates[],
  theme: Theme,
  width: number | undefined,
): string {
  const [linkLine = ""] = renderLink(link, theme).split("\n");
  const used = machine.memory_bytes - machine.memory_available_bytes;
  const temperature =
    machine.temperature_celsius === null ? "" : `   Temp ${machine.temperature_celsius.toFixed(0)} °C`;
  const free = disk ? `   Disk ${formatBytes(disk.free_bytes)} free` : "";
  const lines = [
    `Link ${linkLine}`,
    `Load ${machine.load.toFixed(2)} on ${machine.processors} CPU   Memory ${formatBytes(used)} of ${formatBytes(machine.memory_bytes)}${free}${temperature}`,
    "",
    apps.length === 0 ? "No apps on this device." : renderApps(apps, theme, width),
  ];
  return lines.join("\n");
}

function renderApps(apps: readonly AppRates[], theme: Theme, width: number | undefined): string {
  return renderTable<AppRates>(
    [
      { header: "APP", cell: ({ name }) => sanitizeLine(name), canShrink: true },
      {
        header: "STATE",
        cell: ({ state }) => sanitizeLine(state),
        paint: (text, { trouble }) => (trouble === null ? theme.green(text) : theme.red(text)),
      },
      { header: "CPU %", cell: ({ cpu_percent }) => cpu_percent?.toFixed(1) ?? "-", align: "right" },
      { header: "MEMORY", cell: ({ memory_bytes }) => formatBytesOrDash(memory_bytes), align: "right" },
      {
        header: "RECEIVED/s",
        cell: ({ received_bytes_per_s }) => formatBytesOrDash(received_bytes_per_s),
        align: "right",
      },
      { header: "SENT/s", cell: ({ sent_bytes_per_s }) => formatBytesOrDash(sent_bytes_per_s), align: "right" },
      { header: "RESTARTS", cell: ({ restarts }) => (restarts === null ? "-" : String(restarts)), align: "right" },
    ],
    apps,
    theme,
    width,
  );
}

function rounded(value: number | null): number | null {
  return value === null ? null : Math.round(value);
}
