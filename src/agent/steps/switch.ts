import { oldVersionName, containerName } from "../core/app/container.ts";
import type { Step } from "../core/deployment/step.ts";
import { rename } from "./containers.ts";
import type { ContainerStepContext, StepResult } from "./context.ts";
import { withContainer } from "./observe.ts";
import { stopGraceMs } from "./stop-grace.ts";
import { startContainer } from "./start.ts";

/**
 * Replaces the old version by the new one. Names change first, while the old version runs, to keep the time short in
 * which neither does; one between two runs may have to stop for that. Precondition: both containers exist. Safe to repeat
 * after a crash: what is done already is observed.
 */
export async function runSwitch(
  context: ContainerStepContext,
  step: Extract<Step, { kind: "switch" }>,
): Promise<StepResult> {
  const { engine, signal } = context;
  const { container, others, spec } = step;
  const name = containerName(spec.name);
  const holder = others.find((other) => other.name === name);
  if (holder) await rename(context, holder, oldVersionName(spec.name));
  if (container.name !== name) await rename(context, container, name);
  for (const { id, up, deploymentId } of others) {
    if (up) await engine.stopContainer(id, stopGraceMs(context, deploymentId), signal);
  }
  const started = step.start ? await startContainer(context, spec, container.id) : {};
  if (started.failure) return started;
  let observed = withContainer(context.observed, container.id, { name, running: step.start, up: step.start });
  for (const { id } of others) observed = withContainer(observed, id, { running: false, up: false });
  return { ...started, progress: step.start ? { startedContainerId: container.id } : {}, observed };
}
