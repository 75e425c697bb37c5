import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import type { RefreshedSim, SimDifference } from "../sims/refresh.ts";
import {
  ageText,
  changeText,
  momentText,
  pendingText,
  percent,
  simName,
  stateText,
  usedText,
} from "../sims/sim-words.ts";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import { type Column, renderFields, renderTable } from "../../lib/terminal/table.ts";
import type { Allowance, Sim } from "../api/sims.ts";
import { formatMinute, utcDay } from "../../lib/terminal/time.ts";
import type { Usage } from "../api/usage.ts";
import type { AssetSimDetails, Part, SimDetails } from "../sims/read-sims.ts";
import { renderComparison } from "./sim-comparison.ts";

/** Says for each SIM what its operator said, and what is different from before. @param now Unix seconds */
export function renderRefreshed(refreshed: readonly RefreshedSim[], now: number, theme: Theme): string {
  return refreshed.flatMap((each) => linesOf(each, now, theme)).join("\n");
}

function linesOf({ sim, differences, asked }: RefreshedSim, now: number, theme: Theme): string[] {
  const head = `${theme.bold(simName(sim.type))}: ${stateText(sim)}. ${sourceOf(sim.checked_at, asked, now)}`;
  if (differences.length === 0) {
    const pending = sim.pending ? [`  Pending: ${theme.yellow(pendingText(sim.pending, now, sim))}`] : [];
    return [head, ...pending, "  Nothing is different."];
  }
  return [head, ...differences.map((difference) => `  ${wordsOf(difference, sim, now, theme)}`)];
}

function sourceOf(at: number | null, asked: boolean, now: number): string {
  if (at === null) return "No operator serves it: this is what is stored.";
  return asked ? "The operator was asked now." : `This is the operator's last answer: ${momentText(at, now)}.`;
}

const NAMES: Readonly<Record<SimDifference["field"], string>> = {
  status: "Status",
  operator_status: "In the operator's words",
  network_group: "Network group",
  service_profile: "Service profile",
  pending: "Pending",
  lost: "Lost",
};

function wordsOf({ field, before, after }: SimDifference, sim: RefreshedSim["sim"], now: number, theme: Theme): string {
  if (field === "lost") {
    return after === true
      ? theme.red("The operator does not know it any more. Its last state stays.")
      : theme.green("The operator knows it again.");
  }
  if (field === "pending" && sim.pending) return `Pending: ${theme.yellow(pendingText(sim.pending, now, sim))}`;
  if (field === "pending") return theme.green(`Settled: ${changeText(before as NonNullable<typeof sim.pending>)}`);
  return `${NAMES[field]}: ${valueText(before)} -> ${valueText(after)}`;
}

function valueText(value: unknown): string {
  return typeof value === "string" ? sanitizeLine(value) : "-";
}

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
function paintOutlook(text: string, level: Outlook["level"], theme: Theme): string {
  if (level === "spent") return theme.red(text);
  return level === "foreseen" ? theme.yellow(text) : text;
}

/** Paints the state of a SIM. */
function paintSimState(text: string, { status, lost }: Sim, theme: Theme): string {
  if (lost) return theme.red(text);
  return status === "active" ? theme.green(text) : theme.dim(text);
}

type Fields = [name: string, value: string][];

/** Renders all that is known of an asset's SIMs. @param now Unix seconds */
export function renderSimDetails(
  { sims, comparison }: AssetSimDetails,
  now: number,
  theme: Theme,
  width: number | undefined,
): string {
  const parts = sims.map((details) => renderSim(details, now, theme));
  return [...parts, renderComparison(comparison, sims, now, theme, width)].join("\n\n");
}

function renderSim({ sim, allowance, usage }: SimDetails, now: number, theme: Theme): string {
  const { type, iccid, serial_number: serial, asset_name: name, checked_at: at } = sim;
  const fields: Fields = [
    ["Asset", sanitizeLine(name === serial ? serial : `${serial}, ${name}`)],
    ["ICCID", sanitizeLine(iccid)],
    ["State", paintSimState(stateText(sim), sim, theme)],
  ];
  if (sim.network_group !== undefined) fields.push(["Network group", sanitizeLine(sim.network_group)]);
  if (sim.service_profile !== undefined) fields.push(["Service profile", sanitizeLine(sim.service_profile)]);
  if (sim.pending) fields.push(["Pending", theme.yellow(pendingText(sim.pending, now, sim))]);
  fields.push(["Checked", at === null ? "never: no operator was asked for it" : momentText(at, now)]);
  if (sim.lost) fields.push(["", theme.red("The operator did not know it then; its last state stays.")]);
  fields.push(...usageFields(usage, now), ...allowanceFields(allowance, type, theme));
  return `${theme.bold(simName(type))}\n${renderFields(fields, theme)}`;
}

function usageFields(usage: Part<Usage>, now: number): Fields {
  if ("missing" in usage) return [["Used this month", `not known: ${sanitizeLine(usage.missing.message)}`]];
  const { usages, as_of: at, finalized_until: final, start_time: start } = usage.value;
  const total = usages.reduce((sum, entry) => sum + entry.total, 0);
  const source = at === undefined ? "as it was imported" : `as the operator said ${momentText(at, now)}`;
  const fields: Fields = [["Used this month", `${formatBytes(total)}, ${source}`]];
  if (usages.length > 1) {
    const groups = usages.map((entry) => {
      return `${sanitizeLine(entry.network_group ?? entry.service_profile ?? "-")} ${formatBytes(entry.total)}`;
    });
    fields.push(["", groups.join(", ")]);
  }
  if (final !== undefined) {
    fields.push(["", final <= start ? "none of it is final yet" : `final up to ${formatMinute(final)} UTC`]);
  }
  return fields;
}

/** Renders one allowance. @param now Unix seconds */
export function renderAllowance(value: Allowance, type: string, now: number, theme: Theme): string {
  const at = value.as_of;
  const asOf: Fields = at === undefined ? [] : [["  As of", momentText(at, now)]];
  return renderFields([...allowanceFields({ value }, type, theme), ...asOf], theme);
}

function allowanceFields(allowance: Part<Allowance>, type: string, theme: Theme): Fields {
  if ("missing" in allowance) {
    const { code, message } = allowance.missing;
    const isNone = code === "AllowanceNotFound";
    return [
      ["Allowance", isNone ? "none: the operator says none, and none is set" : `not known: ${sanitizeLine(message)}`],
    ];
  }
  const { bytes, source, used_bytes: used, forecast_bytes: forecast, exceeded_at: at } = allowance.value;
  const expected = `${formatBytes(forecast)} by the end of the month (${percent(forecast, bytes)})`;
  const fields: Fields = [
    ["Allowance", `${usedText(allowance.value)} used this month`],
    ["  Source", sourceText(source, type)],
  ];
  if (used >= bytes) {
    const since = at === undefined ? "" : ` since ${utcDay(at)}`;
    fields.push(["  Forecast", paintOutlook(`used up${since}`, "spent", theme)]);
  } else if (forecast >= bytes) {
    const when = at === undefined ? "" : `, used up about ${formatMinute(at)} UTC`;
    fields.push(["  Forecast", paintOutlook(expected + when, "foreseen", theme)]);
  } else {
    fields.push(["  Forecast", expected]);
  }
  return fields;
}

/** Where the figure of an allowance comes from. */
export function sourceText(source: string, type: string): string {
  if (source === "manual") return "set by hand";
  return type === "supersim" ? "the limit of its fleet at the operator" : "as the operator says";
}
