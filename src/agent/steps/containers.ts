import { containerName } from "../core/app/container.ts";
import type { ObservedContainer } from "../core/records.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import type { Observed, Step } from "../core/deployment/step.ts";
import { EngineError } from "../engine/engine-error.ts";
import { removePlaces } from "../files/place.ts";
import type { ContainerStepContext, StepContext, StepResult } from "./context.ts";
import { stopGraceMs } from "./stop-grace.ts";
import { keepLog } from "./keep-log.ts";
import { type Leftover, leftoverText, leftoverTrouble, removeOrSetAside } from "./leftovers.ts";
import { releaseNetworks } from "./networks.ts";
import { withContainer } from "./observe.ts";

/**
 * Removes containers with their anonymous volumes; it is no error if one is gone, nor if the engine cannot remove one that
 * does not run: it is left behind, and tried again by the reconciler. Keeps the end of their log. Precondition: each carries
 * the label of this deployment or its app. The files of their versions go with them. Images stay: a new pull may cost money.
 */
export async function runClean(
  context: ContainerStepContext,
  { containerIds, isGentle }: Extract<Step, { kind: "clean" }>,
): Promise<StepResult> {
  const { engine, config, observed, troubles, signal } = context;
  if (isGentle)
    for (const id of containerIds) await engine.stopContainer(id, stopGraceMs(context, context.deploymentId), signal);
  await keepLog(context, containerIds);
  const left: Leftover[] = [];
  for (const id of containerIds) {
    const leftover = await removeOrSetAside(engine, id, signal);
    if (!leftover) continue;
    left.push(leftover);
    troubles.setContainer(id, leftoverTrouble(leftover));
  }
  const all = [...observed.containers, ...observed.others];
  const isKept = (deploymentId: string): boolean =>
    all.some((other) => other.deploymentId === deploymentId && !containerIds.includes(other.id));
  const gone = all.filter(({ id, deploymentId }) => containerIds.includes(id) && !isKept(deploymentId));
  removePlaces(
    config.stateDir,
    gone.map(({ deploymentId }) => deploymentId),
  );
  if (left.length === 0) return {};
  return {
    record: { leftBehind: left.map(({ id, name }) => ({ id, name })) },
    events: left.map((leftover) => runningEvent("removing", leftoverText(leftover))),
  };
}

/** The same in a deployment, which may have ended the use of a network. */
export async function runCleanAndRelease(
  context: StepContext,
  step: Extract<Step, { kind: "clean" }>,
): Promise<StepResult> {
  const result = await runClean(context, step);
  const { action, app, leftBehind: earlier = [] } = context.record;
  await releaseNetworks(context, action === "remove" ? app : undefined);
  const left = result.record?.leftBehind;
  return left ? { ...result, record: { leftBehind: [...earlier, ...left] } } : result;
}

type RenameContext = Pick<ContainerStepContext, "engine" | "config" | "store" | "observed" | "signal">;

/**
 * Renames a container. One that the engine cannot rename between two runs is stopped for it: it serves nothing then.
 * Returns what has changed.
 */
export async function rename(
  context: RenameContext,
  { id, deploymentId }: { readonly id: string; readonly deploymentId: string | undefined },
  name: string,
): Promise<Partial<Pick<ObservedContainer, "name" | "running" | "up">>> {
  const { engine, signal } = context;
  try {
    await engine.renameContainer(id, name, signal);
    return { name };
  } catch (error) {
    // What was observed may have changed since: only the engine's answer tells.
    if (!(error instanceof EngineError) || error.kind !== "between_runs") throw error;
  }
  await engine.stopContainer(id, stopGraceMs(context, deploymentId), signal);
  await engine.renameContainer(id, name, signal);
  return { name, running: false, up: false };
}

/**
 * Gives a container its app's name back; what stopped for it is started by a later step. Precondition: no other container
 * has that name.
 */
export async function runRename(
  context: RenameContext,
  { app, containerId }: Extract<Step, { kind: "rename" }>,
): Promise<StepResult> {
  const { observed } = context;
  const change = await rename(
    context,
    { id: containerId, deploymentId: deploymentOf(observed, containerId) },
    containerName(app),
  );
  return { observed: withContainer(observed, containerId, change) };
}

function deploymentOf({ containers, others }: Observed, containerId: string): string | undefined {
  return [...containers, ...others].find(({ id }) => id === containerId)?.deploymentId;
}

/**
 * Stops containers, each after the grace period for its app to end by itself; it is no error if one is not running.
 * Precondition: each belongs to this deployment's app.
 */
export async function runStop(
  context: Pick<ContainerStepContext, "engine" | "config" | "store" | "observed" | "signal">,
  { containerIds }: Extract<Step, { kind: "stop" }>,
): Promise<StepResult> {
  const { engine, signal } = context;
  let { observed } = context;
  for (const id of containerIds) {
    await engine.stopContainer(id, stopGraceMs(context, deploymentOf(observed, id)), signal);
    observed = withContainer(observed, id, { running: false, up: false });
  }
  return { progress: { stoppedContainerId: containerIds.at(-1), startedContainerId: undefined }, observed };
}
