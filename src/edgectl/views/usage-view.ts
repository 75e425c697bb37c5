import type { Granularity } from "../../protocol/assets/usage.ts";
import { type TrafficPurpose, trafficPurposeSchema } from "../../protocol/link/data-usage.ts";
import type { DataUsage, DataUsageDay, Usage, UsageEntry } from "../api/usage.ts";
import { renderChartBar } from "./live-line.ts";
import { formatBytes, formatBytesOrDash } from "../../lib/terminal/bytes.ts";
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

/** Shown only where they were used: releases of the agent are rare, and so are versions that know other purposes. */
const RARE_PURPOSES: ReadonlySet<string> = new Set<TrafficPurpose>(["agent", "other"]);
const USUAL_PURPOSES = trafficPurposeSchema.options.filter((purpose) => !RARE_PURPOSES.has(purpose));

/**
 * Renders one line per day: the agent's traffic by purpose, the device's traffic, and the usage the operator counted.
 */
export function renderDataUsage(usage: DataUsage, theme: Theme, width: number | undefined): string {
  const range = `${sanitizeLine(usage.from)} to ${sanitizeLine(usage.to)} (UTC)`;
  const days = allDays(usage);
  if (days.length === 0) return `${range}\n\nNothing was counted in this time.`;
  const rows = [...days.map((day) => rowOf(day, usage)), totalOf(usage)];
  const number = (header: string, pick: (row: Row) => number | undefined): Column<Row> => ({
    header,
    cell: (row) => formatBytesOrDash(pick(row)),
    align: "right",
  });
  const columns: Column<Row>[] = [
    { header: "DAY", cell: ({ day }) => sanitizeLine(day) },
    ...shownPurposes(rows).map((purpose) => number(sanitizeLine(purpose.toUpperCase()), (row) => row.agent[purpose])),
    number("OVERHEAD~", (row) => row.overhead),
    number("DEVICE", (row) => row.device),
    number("SIM", (row) => row.sim),
  ];
  return [range, "", renderTable(columns, rows, theme, width), "", ...notes(usage, theme)].join("\n");
}

/** Also those that only a newer service knows. */
function shownPurposes(rows: readonly Row[]): string[] {
  const used = rows.flatMap(({ agent }) => Object.keys(agent).filter((purpose) => agent[purpose]));
  return [...new Set([...USUAL_PURPOSES, ...used])];
}

interface Row {
  readonly day: string;
  readonly agent: Partial<Record<string, number>>;
  readonly overhead: number | undefined;
  readonly device: number | undefined;
  readonly sim: number | undefined;
}

function allDays({ days, sims }: DataUsage): string[] {
  const names = [...days.map(({ day }) => day), ...sims.flatMap((sim) => sim.days.map(({ day }) => day))];
  return [...new Set(names)].toSorted();
}

function rowOf(name: string, usage: DataUsage): Row {
  const day = usage.days.find((candidate) => candidate.day === name);
  const sims = usage.sims.flatMap((sim) => sim.days.filter((entry) => entry.day === name));
  return {
    day: name,
    agent: day ? agentOf(day) : {},
    overhead: day?.overhead_estimate_bytes,
    device: day && sum(Object.values(day.interfaces).map(total)),
    sim: sims.length > 0 ? sum(sims.map((entry) => entry.total)) : undefined,
  };
}

function totalOf(usage: DataUsage): Row {
  const rows = allDays(usage).map((day) => rowOf(day, usage));
  const of = (pick: (row: Row) => number | undefined): number | undefined => {
    const known = rows.map(pick).filter((value) => value !== undefined);
    return known.length > 0 ? sum(known) : undefined;
  };
  const purposes = rows.flatMap(({ agent }) => Object.keys(agent));
  return {
    day: "total",
    agent: Object.fromEntries(purposes.map((purpose) => [purpose, of((row) => row.agent[purpose])])),
    overhead: of((row) => row.overhead),
    device: of((row) => row.device),
    sim: of((row) => row.sim),
  };
}

function notes(usage: DataUsage, theme: Theme): string[] {
  const { budget } = usage;
  const lines = [
    "The columns before OVERHEAD are the agent's own traffic; overhead is an estimate of TCP and IP.",
    "DEVICE is all that went over its interfaces, SIM what the operator counted.",
  ].map((line) => theme.dim(line));
  if (budget?.monthly_bytes != null) {
    lines.push(
      `Budget: ${formatBytes(budget.used_this_month_bytes)} of ${formatBytes(budget.monthly_bytes)} this month`,
    );
  }
  if (budget?.daily_bytes != null) {
    lines.push(`Budget: ${formatBytes(budget.used_today_bytes)} of ${formatBytes(budget.daily_bytes)} today`);
  }
  return lines;
}

function agentOf(day: DataUsageDay): Record<string, number> {
  return Object.fromEntries(Object.entries(day.by_purpose).map(([purpose, both]) => [purpose, total(both)]));
}

function total({ sent_bytes, received_bytes }: { sent_bytes: number; received_bytes: number }): number {
  return sent_bytes + received_bytes;
}

function sum(values: readonly number[]): number {
  return values.reduce((before, value) => before + value, 0);
}
