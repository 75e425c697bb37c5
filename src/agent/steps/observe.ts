import { LABELS } from "../core/container.ts";
import type { DeploymentRecord } from "../core/deployment.ts";
import type { Observed } from "../core/plan.ts";
import type { Engine } from "../engine/engine.ts";

/** Holds until the step that creates the container: nothing before it makes one. */
export const NOTHING_CREATED: Observed = { containers: [] };

/** Whether a container of the deployment can exist at all: none is created before its image is known. */
export function mayHaveContainer(record: DeploymentRecord): boolean {
  return record.imageId !== undefined;
}

/** What the engine shows of a deployment. Spares the call where there cannot be anything to see. */
export async function observe(record: DeploymentRecord, engine: Engine, signal: AbortSignal): Promise<Observed> {
  if (!mayHaveContainer(record)) return NOTHING_CREATED;
  const all = await engine.listContainers(signal);
  const own = all.filter(({ labels }) => labels[LABELS.deployment] === record.id);
  return {
    containers: own.map(({ id, status }) => ({ id, running: status === "running" })),
  };
}
