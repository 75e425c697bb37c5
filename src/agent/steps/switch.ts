import { oldVersionName, containerName } from "../core/app/container.ts";
import type { Step } from "../core/deployment/step.ts";
import type { StepContext, StepResult } from "./context.ts";
import { withContainer } from "./observe.ts";
import { startOrSayWhichPort } from "./start.ts";

/**
 * Puts the new version in the place of the old one. Names change first, while the old one runs: between its end and the
 * start of the new one there is nothing else to do, since that is the time in which nobody answers. Precondition: both
 * exist; every part of it that was done before a crash is seen, and not done again.
 */
export async function runSwitch(context: StepContext, step: Extract<Step, { kind: "switch" }>): Promise<StepResult> {
  const { engine, config, signal } = context;
  const { container, others, spec } = step;
  const name = containerName(spec.name);
  const holder = others.find((other) => other.name === name);
  if (holder) await engine.renameContainer(holder.id, oldVersionName(spec.name), signal);
  if (container.name !== name) await engine.renameContainer(container.id, name, signal);
  for (const { id, up } of others) if (up) await engine.stopContainer(id, config.stopGraceMs, signal);
  const failure = step.start ? await startOrSayWhichPort(context, spec, container.id) : undefined;
  if (failure) return { failure };
  let observed = withContainer(context.observed, container.id, { name, running: step.start, up: step.start });
  for (const { id } of others) observed = withContainer(observed, id, { running: false, up: false });
  return { progress: step.start ? { startedContainerId: container.id } : {}, observed };
}
