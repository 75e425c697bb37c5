import { containerName } from "../core/app/container.ts";
import type { Step } from "../core/deployment/step.ts";
import { removePlaces } from "../files/place.ts";
import type { ContainerStepContext, StepResult } from "./context.ts";
import { withContainer } from "./observe.ts";

/**
 * Removes containers with their anonymous volumes; it is no error if one is gone. Precondition: each carries the label
 * of this deployment or its app. The files of their versions go with them. Images stay: a new pull may cost money.
 */
export async function runClean(
  { engine, config, observed, signal }: Pick<ContainerStepContext, "engine" | "config" | "observed" | "signal">,
  { containerIds }: Extract<Step, { kind: "clean" }>,
): Promise<StepResult> {
  for (const id of containerIds) await engine.removeContainer(id, signal);
  const all = [...observed.containers, ...observed.others];
  const isKept = (deploymentId: string): boolean =>
    all.some((other) => other.deploymentId === deploymentId && !containerIds.includes(other.id));
  const gone = all.filter(({ id, deploymentId }) => containerIds.includes(id) && !isKept(deploymentId));
  removePlaces(
    config.stateDir,
    gone.map(({ deploymentId }) => deploymentId),
  );
  return {};
}

/** Gives a container its app's name back. Precondition: no other container has that name. */
export async function runRename(
  { engine, observed, signal }: Pick<ContainerStepContext, "engine" | "observed" | "signal">,
  { app, containerId }: Extract<Step, { kind: "rename" }>,
): Promise<StepResult> {
  const name = containerName(app);
  await engine.renameContainer(containerId, name, signal);
  return { observed: withContainer(observed, containerId, { name }) };
}

/**
 * Stops containers, each after the grace period for its app to end by itself; it is no error if one is not running.
 * Precondition: each belongs to this deployment's app.
 */
export async function runStop(
  context: Pick<ContainerStepContext, "engine" | "config" | "observed" | "signal">,
  { containerIds }: Extract<Step, { kind: "stop" }>,
): Promise<StepResult> {
  const { engine, config, signal } = context;
  let { observed } = context;
  for (const id of containerIds) {
    await engine.stopContainer(id, config.stopGraceMs, signal);
    observed = withContainer(observed, id, { running: false, up: false });
  }
  return { progress: { stoppedContainerId: containerIds.at(-1), startedContainerId: undefined }, observed };
}
