import { adopt } from "../core/adopt.ts";
import { LABELS } from "../core/container.ts";
import type { DeployServices } from "./context.ts";

/**
 * Enters every app whose container carries this agent's labels, and that the store does not know, into the store: after
 * the store was lost, the engine is what is left to know the apps by. Containers that were never started belong to
 * deployments that did not get that far; they are left to the control plane, which has them undone.
 */
export async function adoptApps({ engine, store, logger, config }: DeployServices, signal: AbortSignal): Promise<void> {
  const known = new Set([
    ...store.apps().map(({ deploymentId }) => deploymentId),
    ...store.deployments().map(({ id }) => id),
  ]);
  for (const { id, labels, status } of await engine.listContainers(signal)) {
    if (labels[LABELS.stateDir] !== config.stateDir) continue;
    const app = labels[LABELS.app];
    const deploymentId = labels[LABELS.deployment];
    if (app === undefined || deploymentId === undefined || known.has(deploymentId) || status === "created") continue;
    const makeup = await engine.describeContainer(id, signal);
    const record = makeup && adopt({ ...makeup, app, deploymentId, containerId: id, extras: labels[LABELS.extras] });
    const log = logger.child({ app, deployment: deploymentId });
    // Cancelled since the look.
    if (store.deployment(deploymentId) || store.endOf(deploymentId) === "Fail") continue;
    if (record) {
      store.save({ app: record });
      log.warn("an app was found by its container's labels and is looked after again");
    } else {
      log.error("a container carries the agent's labels, but what it runs is no valid app; it is left alone");
    }
  }
}
