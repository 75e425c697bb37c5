import { requestedDeploymentId } from "../core/apply/child-id.ts";
import { isLeftover, isUp } from "../core/app/container-decision.ts";
import { LABELS } from "../core/app/container.ts";
import type { DeploymentRecord, ObservedContainer } from "../core/records.ts";
import type { Observed } from "../core/deployment/step.ts";
import type { ContainerSummary, Engine } from "../engine/engine.ts";
import { findManagedContainers, hasLostNetwork, type ManagedContainer } from "../engine/managed-containers.ts";

/** Result of the steps before `create`: the deployment has no containers of its own. */
export const NOTHING_CREATED: Partial<Observed> = { containers: [] };

export const NO_CONTAINERS: Observed = { containers: [], others: [] };

/**
 * Whether the engine may have a container that the deployment created or changed: none is created before its image is
 * known, and none changed before `touched` is stored.
 */
export function mayHaveContainer({ checked, imageId, touched, committed }: DeploymentRecord): boolean {
  return touched || committed || (checked && imageId !== undefined);
}

/**
 * Lists the containers of a deployment and its app, without those that it could not remove. Saves the call where there
 * cannot be any.
 */
export async function observe(
  record: DeploymentRecord,
  engine: Engine,
  stateDir: string,
  signal: AbortSignal,
): Promise<Observed> {
  const needsNoApp = record.action === "deploy" || record.failure !== undefined;
  if (needsNoApp && !mayHaveContainer(record)) return NO_CONTAINERS;
  const { previous, containerId, leftBehind = [] } = record;
  const recorded = new Set([containerId, previous?.containerId].filter((id) => id !== undefined));
  const isOfApp = ({ id, labels }: ContainerSummary): boolean =>
    previous !== undefined &&
    labels[LABELS.app] === record.app &&
    (labels[LABELS.stateDir] === stateDir || recorded.has(id));
  const isOwn = ({ labels }: ContainerSummary): boolean => {
    const { [LABELS.deployment]: id = "", [LABELS.previousImage]: previousImage = "" } = labels;
    if (id === record.id) return true;
    // Without an app it is a deployment that the store has lost, which may have been a group. What it has updated stays:
    // the version before is not known any more, and without this one there would be no app.
    return record.app === "" && requestedDeploymentId(id) === record.id && previousImage === "";
  };
  const all = await engine.listContainers(signal);
  const labelled = all.filter((container) => {
    return (isOwn(container) || isOfApp(container)) && !leftBehind.some(({ id }) => id === container.id);
  });
  const managed = await findManagedContainers(labelled, { engine, recorded }, signal);
  return {
    containers: managed.filter(isOwn).map((container) => toObserved(container, all)),
    others: managed.filter((container) => !isOwn(container)).map((container) => toObserved(container, all)),
  };
}

function toObserved(container: ManagedContainer, all: readonly ContainerSummary[]): ObservedContainer {
  const { id, name, deploymentId, status } = container;
  const leftover = (isLeftover(status) || hasLostNetwork(container, all)) && { isLeftover: true };
  return { id, name, deploymentId, running: status === "running", up: isUp(status), ...leftover };
}

/** Returns the observation with one container changed by a step. */
export function withContainer(
  { containers, others }: Observed,
  id: string,
  change: Partial<Pick<ObservedContainer, "name" | "running" | "up">>,
): Observed {
  const changed = (container: ObservedContainer): ObservedContainer =>
    container.id === id ? { ...container, ...change } : container;
  return { containers: containers.map(changed), others: others.map(changed) };
}
