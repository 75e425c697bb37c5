import type { Step } from "../core/deployment/step.ts";
import type { StepContext, StepResult } from "./context.ts";
import { withContainer } from "./observe.ts";

/**
 * Stops containers, each with time for its app to end by itself. Stopping what does not run is no error. Precondition:
 * each belongs to this deployment's app.
 */
export async function runStop(context: StepContext, step: Extract<Step, { kind: "stop" }>): Promise<StepResult> {
  const { engine, config, signal } = context;
  let { observed } = context;
  for (const id of step.containerIds) {
    await engine.stopContainer(id, config.stopGraceMs, signal);
    observed = withContainer(observed, id, { running: false, up: false });
  }
  return { progress: { stoppedContainerId: step.containerIds.at(-1), startedContainerId: undefined }, observed };
}
