import { LABELS } from "../core/container.ts";
import type { AppRecord } from "../core/deployment.ts";
import type { ContainerState, Engine } from "../engine/engine.ts";

/** The container of an installed app: the one that was recorded, or another that carries its deployment's label. */
export async function ownContainer(
  { containerId, deploymentId }: AppRecord,
  engine: Engine,
  signal: AbortSignal,
): Promise<ContainerState | undefined> {
  const recorded = await engine.inspectContainer(containerId, signal);
  if (recorded) return recorded;
  const other = (await engine.listContainers(signal)).find(({ labels }) => labels[LABELS.deployment] === deploymentId);
  return other && (await engine.inspectContainer(other.id, signal));
}
