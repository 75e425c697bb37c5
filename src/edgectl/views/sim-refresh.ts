import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import type { Theme } from "../../lib/terminal/theme.ts";
import type { RefreshedSim, SimDifference } from "../sims/refresh.ts";
import { changeText, momentText, pendingText, simName, stateText } from "../sims/sim-words.ts";

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
