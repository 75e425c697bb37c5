import { containerName } from "../core/app/container.ts";
import type { Step } from "../core/deployment/step.ts";
import type { StepContext, StepResult } from "./context.ts";
import { withContainer } from "./observe.ts";

/** Gives a container its app's name back. Precondition: no other container has that name. */
export async function runRename(context: StepContext, step: Extract<Step, { kind: "rename" }>): Promise<StepResult> {
  const name = containerName(step.app);
  await context.engine.renameContainer(step.containerId, name, context.signal);
  return { observed: withContainer(context.observed, step.containerId, { name }) };
}
