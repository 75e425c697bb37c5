import { LABELS } from "../core/app/container.ts";
import type { AppRecord } from "../core/deployment/record.ts";
import type { ContainerState, Engine } from "../engine/engine.ts";
import { findManagedContainers } from "../engine/managed-containers.ts";

/** Finds the container of an installed app: the recorded one, or another one with the labels of its deployment. */
export async function findAppContainer(
  { containerId, deploymentId }: AppRecord,
  engine: Engine,
  signal: AbortSignal,
): Promise<ContainerState | undefined> {
  const recorded = await engine.inspectContainer(containerId, signal);
  if (recorded) return recorded;
  const all = await engine.listContainers(signal);
  const labelled = all.filter(({ labels }) => labels[LABELS.deployment] === deploymentId);
  const [other] = await findManagedContainers(labelled, { engine, recorded: new Set([containerId]) }, signal);
  return other && (await engine.inspectContainer(other.id, signal));
}
