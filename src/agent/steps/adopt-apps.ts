import { adopt, chooseApps, type Foundling } from "../core/adopt.ts";
import { LABELS } from "../core/container.ts";
import type { ContainerSummary } from "../engine/engine.ts";
import type { DeployServices } from "./context.ts";

/**
 * Enters every app whose container carries this agent's labels, and that the store does not know, into the store: after
 * the store was lost, the engine is what is left to know the apps by.
 */
export async function adoptApps(services: DeployServices, signal: AbortSignal): Promise<void> {
  const { engine, store, logger, config } = services;
  const known = knownDeployments(services);
  const all = await engine.listContainers(signal);
  const { adopted, removed } = chooseApps(all.flatMap((container) => toFoundling(container, config.stateDir) ?? []));
  for (const { id, app, deploymentId } of removed) {
    if (known.has(deploymentId)) continue;
    logger.warn({ app, deployment: deploymentId }, "an update was going on when the store was lost; it is undone");
    await engine.removeContainer(id, signal);
  }
  for (const foundling of adopted) {
    const { id, app, deploymentId } = foundling;
    if (known.has(deploymentId) || store.apps().some(({ name }) => name === app)) continue;
    const makeup = await engine.describeContainer(id, signal);
    const {
      [LABELS.image]: image,
      [LABELS.previousImage]: previousImageId,
      [LABELS.extras]: extras,
    } = labelsOf(all, id);
    const found = makeup && { ...makeup, app, deploymentId, containerId: id, previousImageId, extras };
    const record = found && adopt({ ...found, image: image ?? found.image });
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

/** Deployments whose containers the store knows what to do with. */
function knownDeployments({ store }: DeployServices): Set<string> {
  const apps = store.apps().map(({ deploymentId }) => deploymentId);
  const going = store.deployments().flatMap(({ id, previous }) => (previous ? [id, previous.deploymentId] : [id]));
  return new Set([...apps, ...going]);
}

function toFoundling({ id, name, labels, status }: ContainerSummary, stateDir: string): Foundling | undefined {
  const { [LABELS.app]: app, [LABELS.deployment]: deploymentId } = labels;
  if (labels[LABELS.stateDir] !== stateDir || app === undefined || deploymentId === undefined) return undefined;
  return { id, name, app, deploymentId, wasStarted: status !== "created" };
}

function labelsOf(all: readonly ContainerSummary[], id: string): Readonly<Record<string, string>> {
  return all.find((container) => container.id === id)?.labels ?? {};
}
