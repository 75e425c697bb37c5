import type { DataUsage, DataUsageDay } from "../api/data-usage.ts";
import { formatBytes, formatBytesOrDash } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";

const PURPOSES = ["control", "telemetry", "logs", "pulls", "remote_access"] as const;

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
    ...PURPOSES.map((purpose) => number(purpose.toUpperCase(), (row) => row.agent[purpose])),
    number("OVERHEAD~", (row) => row.overhead),
    number("DEVICE", (row) => row.device),
    number("SIM", (row) => row.sim),
  ];
  return [range, "", renderTable(columns, rows, theme, width), "", ...notes(usage, theme)].join("\n");
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
  return {
    day: "total",
    agent: Object.fromEntries(PURPOSES.map((purpose) => [purpose, of((row) => row.agent[purpose])])),
    overhead: of((row) => row.overhead),
    device: of((row) => row.device),
    sim: of((row) => row.sim),
  };
}

function notes(usage: DataUsage, theme: Theme): string[] {
  const { budget } = usage;
  const lines = [
    "The first five are the agent's own traffic; overhead is an estimate of TCP and IP.",
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
