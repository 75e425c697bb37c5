import { type DeploymentTimings, timingsOf } from "../../protocol/deployments/deployment-timings.ts";
import { sanitizeLine } from "./sanitize.ts";
import { renderTable } from "./table.ts";
import type { Theme } from "./theme.ts";

interface Row {
  readonly step: string;
  readonly ms: number;
  /** `undefined` where the engine is not involved. */
  readonly engineMs?: number;
}

/**
 * Renders how long the steps of a deployment took on the device, and the container engine's part of each.
 *
 * @param event the final one
 */
export function renderTimings(
  event: Parameters<typeof timingsOf>[0],
  { theme, width }: { readonly theme: Theme; readonly width: number | undefined },
): string {
  const timings = timingsOf(event);
  if (!timings) return "Times: the device reported none.";
  const columns = [
    { header: "STEP", cell: ({ step }: Row) => sanitizeLine(step), canShrink: true as const },
    right("TOTAL", ({ ms }) => milliseconds(ms)),
    right("ENGINE", ({ engineMs }) => (engineMs === undefined ? "-" : milliseconds(engineMs))),
    right("SHARE", ({ ms, engineMs }) => (engineMs === undefined ? "-" : percent(engineMs, ms))),
  ];
  const note = timings.since_restart ? "\nThe agent was restarted in the middle: times from before are not known." : "";
  return `${renderTable(columns, rowsOf(timings), theme, width)}${note}`;
}

const sum = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0);

function rowsOf({ total_ms: total, steps }: DeploymentTimings): Row[] {
  const between = Math.max(0, total - sum(steps.map(({ ms }) => ms)));
  return [
    ...steps.map(({ step, ms, engine_ms: engineMs }) => ({ step: step.replaceAll("_", " "), ms, engineMs })),
    { step: "between steps", ms: between },
    { step: "all", ms: total, engineMs: sum(steps.map(({ engine_ms }) => engine_ms)) },
  ];
}

function right(header: string, cell: (row: Row) => string) {
  return { header, cell, align: "right" as const };
}

const milliseconds = (ms: number): string => `${ms.toFixed(1)} ms`;

const percent = (part: number, whole: number): string => (whole > 0 ? `${Math.round((100 * part) / whole)} %` : "-");
