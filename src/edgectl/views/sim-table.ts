import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { type Column, renderTable } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import type { Sim } from "../api/sims.ts";
import { ageText, changeText, stateText, usedText } from "../sims/sim-words.ts";

/** Renders one line for each SIM. @param now Unix seconds */
export function renderSims(sims: readonly Sim[], now: number, theme: Theme, width: number | undefined): string {
  if (sims.length === 0) return "No SIMs.";
  const columns: Column<Sim>[] = [
    { header: "ASSET", cell: ({ serial_number: serial }) => sanitizeLine(serial), canShrink: true },
    { header: "TYPE", cell: ({ type }) => sanitizeLine(type) },
    { header: "ICCID", cell: ({ iccid }) => sanitizeLine(iccid) },
    { header: "STATE", cell: stateText, paint: (text, sim) => paintSimState(text, sim, theme), canShrink: true },
    {
      header: "PENDING",
      cell: ({ pending, ...sim }) =>
        pending ? `${changeText(pending, sim)}, asked ${ageText(pending.since, now)}` : "-",
      paint: (text, { pending }) => (pending ? theme.yellow(text) : theme.dim(text)),
      canShrink: true,
    },
    { header: "USED THIS MONTH", cell: ({ allowance }) => (allowance ? usedText(allowance) : "-") },
    {
      header: "FORECAST",
      cell: (sim) => outlookOf(sim).text,
      paint: (text, sim) => paintOutlook(text, outlookOf(sim).level, theme),
    },
    { header: "CHECKED", cell: ({ checked_at: at }) => (at === null ? "never" : ageText(at, now)) },
  ];
  return renderTable(columns, sims, theme, width);
}

interface Outlook {
  readonly text: string;
  readonly level: "none" | "ok" | "foreseen" | "spent";
}

function outlookOf({ allowance }: Sim): Outlook {
  const { bytes = 0, used_bytes: used, forecast_bytes: forecast } = allowance ?? {};
  if (used === undefined || forecast === undefined) return { text: "-", level: "none" };
  if (used >= bytes) return { text: "used up", level: "spent" };
  return forecast >= bytes
    ? { text: `runs out (${formatBytes(forecast)})`, level: "foreseen" }
    : { text: `enough (${formatBytes(forecast)})`, level: "ok" };
}

/** Paints what is said of an allowance. */
export function paintOutlook(text: string, level: Outlook["level"], theme: Theme): string {
  if (level === "spent") return theme.red(text);
  return level === "foreseen" ? theme.yellow(text) : text;
}

/** Paints the state of a SIM. */
export function paintSimState(text: string, { status, lost }: Sim, theme: Theme): string {
  if (lost) return theme.red(text);
  return status === "active" ? theme.green(text) : theme.dim(text);
}
