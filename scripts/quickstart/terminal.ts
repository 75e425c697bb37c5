import { styleText } from "node:util";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";

const COLOURS = { Running: "cyan", Success: "green", Fail: "red" } as const;

/** Runs one step unless the signal has aborted, and prints its title, outcome and duration. */
export async function step<T>(
  signal: AbortSignal,
  title: string,
  work: () => Promise<T>,
  outcome: (result: T) => string,
): Promise<T> {
  signal.throwIfAborted();
  const start = performance.now();
  const result = await work();
  const duration = `${((performance.now() - start) / 1000).toFixed(1)} s`;
  console.log(`${styleText("green", "✓")} ${title.padEnd(38)} ${outcome(result)} ${styleText("dim", duration)}`);
  return result;
}

/** Prints one line for an event of a deployment. */
export function printEvent({ status, step, message, bytes, progress }: DeploymentEvent): void {
  const pulled = bytes && progress !== undefined ? ` (${progress} %, ${(bytes.done / 1e6).toFixed(1)} MB)` : "";
  console.log(`    ${styleText(COLOURS[status], status.padEnd(8))} ${step.padEnd(10)} ${message}${pulled}`);
}

/** Prints a heading. */
export function heading(text: string): void {
  console.log(`\n${styleText("bold", text)}`);
}
