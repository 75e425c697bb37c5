import { isLeftover } from "../core/app/container-decision.ts";
import type { AppRecord } from "../core/records.ts";
import type { ContainerState, Engine } from "../engine/engine.ts";
import { findAppContainers } from "../engine/managed-containers.ts";

/**
 * Finds the container of an installed app: the recorded one, or another one with the labels of its deployment where that is
 * gone or can never run again.
 */
export async function findAppContainer(
  app: AppRecord,
  engine: Engine,
  signal: AbortSignal,
): Promise<ContainerState | undefined> {
  const recorded = await engine.inspectContainer(app.containerId, signal);
  if (recorded && !isLeftover(recorded.status)) return recorded;
  const all = (await engine.listContainers(signal)).filter(({ status }) => !isLeftover(status));
  const [other] = await findAppContainers(app, all, engine, signal);
  return other ? await engine.inspectContainer(other.id, signal) : recorded;
}
