import { formatBytes } from "../../lib/terminal/bytes.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { renderFields } from "../../lib/terminal/table.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import { formatMinute, utcDay } from "../../lib/terminal/time.ts";
import type { Allowance } from "../api/sims.ts";
import type { Usage } from "../api/usage.ts";
import type { AssetSimDetails, Part, SimDetails } from "../sims/read-sims.ts";
import { renderComparison } from "./sim-comparison.ts";
import { paintOutlook, paintSimState } from "./sim-table.ts";
import { momentText, pendingText, percent, simName, stateText, usedText } from "../sims/sim-words.ts";

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
