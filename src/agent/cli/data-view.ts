import { formatBytes } from "../../lib/terminal/bytes.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import type { DataUsed } from "../local/api.ts";

/** What the agent itself has sent and received, what for, and how that stands to the budgets. */
export function renderDataUsed(data: DataUsed, theme: Theme): string {
  const { today_bytes: today, month_bytes: month, by_purpose: purposes, budget } = data;
  const parts = Object.entries(purposes).filter(([, bytes]) => bytes > 0);
  const what = parts
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, bytes]) => `${name} ${formatBytes(bytes)}`);
  const lines = [
    `${formatBytes(today)} today, ${formatBytes(month)} this month${what.length > 0 ? `: ${what.join(", ")}` : ""}`,
  ];
  const limits = [
    limit("day", budget?.used_today_bytes ?? 0, budget?.daily_bytes ?? null, theme),
    limit("month", budget?.used_this_month_bytes ?? 0, budget?.monthly_bytes ?? null, theme),
  ].flat();
  if (limits.length > 0) lines.push(limits.join(", "));
  return lines.join("\n");
}

function limit(period: string, used: number, bound: number | null, theme: Theme): string[] {
  if (bound === null) return [];
  const text = `${formatBytes(used)} of the ${formatBytes(bound)} for the ${period}`;
  return [used >= bound ? theme.red(`${text}: downloads wait`) : text];
}
