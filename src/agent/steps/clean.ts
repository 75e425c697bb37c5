import type { Step } from "../core/deployment/step.ts";
import type { StepContext, StepResult } from "./context.ts";

/**
 * Removes containers that must not stay, with their anonymous volumes. Removing what is gone is no error. Precondition:
 * each carries the label of this deployment or its app, so nothing foreign is touched. Images stay: they may have cost
 * real money.
 */
export async function runClean(context: StepContext, step: Extract<Step, { kind: "clean" }>): Promise<StepResult> {
  for (const id of step.containerIds) await context.engine.removeContainer(id, context.signal);
  return {};
}
