import type { Granularity } from "../../protocol/usage.ts";
import type { Usage, UsageEntry } from "../api/usage.ts";
import { renderChartBar } from "./bar.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatPeriod, formatTime } from "../../lib/terminal/time.ts";

const CHART_WIDTH = 24;

/** Renders usage as a table with a bar chart, scaled to the largest total. */
export function renderUsage(usage: Usage, granularity: Granularity, theme: Theme, width: number | undefined): string {
  const range = `${formatTime(usage.start_time)} to ${formatTime(usage.end_time)} UTC`;
  if (usage.usages.length === 0) return `${range}\n\nNo usage in this time.`;
  const largest = Math.max(...usage.usages.map((entry) => entry.total));
  const columns: Column<UsageEntry>[] = [
    { header: "GROUP", cell: groupOf, canShrink: true },
    { header: "TOTAL", cell: (entry) => formatBytes(entry.total), align: "right" },
    {
      header: "",
      cell: (entry) => renderChartBar(largest > 0 ? entry.total / largest : 0, CHART_WIDTH, theme),
      paint: (text) => theme.cyan(text),
    },
  ];
  if (granularity !== "all") {
    columns.unshift({ header: PERIOD_HEADERS[granularity], cell: (entry) => periodOf(entry, granularity, usage) });
  }
  const total = usage.usages.reduce((sum, entry) => sum + entry.total, 0);
  const lines = [
    range,
    "",
    renderTable(columns, usage.usages, theme, width),
    "",
    `Total ${theme.bold(formatBytes(total))}`,
  ];
  const note = finalityNote(usage);
  if (note !== undefined) lines.push(theme.dim(note));
  return lines.join("\n");
}

const PERIOD_HEADERS = { hour: "HOUR (UTC)", day: "DAY", month: "MONTH" } as const;

const NOT_FINAL_MARK = "*";

function periodOf(entry: UsageEntry, granularity: Exclude<Granularity, "all">, usage: Usage): string {
  if (entry.start_time === undefined) return "";
  const isFinal = usage.finalized_until === undefined || (entry.end_time ?? entry.start_time) <= usage.finalized_until;
  return formatPeriod(entry.start_time, granularity) + (isFinal ? "" : NOT_FINAL_MARK);
}

function groupOf(entry: UsageEntry): string {
  return sanitizeLine(entry.network_group ?? entry.service_profile ?? "-");
}

function finalityNote({ finalized_until: until, start_time, end_time }: Usage): string | undefined {
  if (until === undefined || until >= end_time) return undefined;
  if (until <= start_time) return `${NOT_FINAL_MARK} None of this is final yet: it may still change.`;
  return `${NOT_FINAL_MARK} From ${formatTime(until)} UTC on, usage may still change.`;
}
