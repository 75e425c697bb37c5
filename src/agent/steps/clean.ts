import type { Step } from "../core/plan.ts";
import type { StepContext, StepResult } from "./context.ts";

/**
 * Removes containers of this deployment that must not stay. Removing what is gone is no error. Precondition: each
 * carries this deployment's label, so nothing foreign is touched. Images stay: they may have cost real money.
 */
export async function runClean(context: StepContext, step: Extract<Step, { kind: "clean" }>): Promise<StepResult> {
  for (const id of step.containerIds) await context.engine.removeContainer(id, context.signal);
  return {};
}
