import type { AppRecord } from "../core/deployment/record.ts";
import type { ContainerState, Engine } from "../engine/engine.ts";
import { findAppContainers } from "../engine/managed-containers.ts";

/** Finds the container of an installed app: the recorded one, or another one with the labels of its deployment. */
export async function findAppContainer(
  app: AppRecord,
  engine: Engine,
  signal: AbortSignal,
): Promise<ContainerState | undefined> {
  const recorded = await engine.inspectContainer(app.containerId, signal);
  if (recorded) return recorded;
  const all = await engine.listContainers(signal);
  const [other] = await findAppContainers(app, all, engine, signal);
  return other && (await engine.inspectContainer(other.id, signal));
}
