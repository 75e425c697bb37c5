import { adopt, sortOrphans, type Orphan } from "../core/app/adopt.ts";
import { hasAgentGivenName, LABELS } from "../core/app/container.ts";
import { type ManagedContainer, findManagedContainers } from "../engine/managed-containers.ts";
import type { DeployServices } from "./context.ts";
import { hashSpec } from "./create.ts";

/**
 * Enters every app whose container has this agent's labels and a name it gives, and that the store does not know, into
 * the store: after the store was lost, the engine is what is left to know the apps by.
 */
export async function adoptApps(services: DeployServices, signal: AbortSignal): Promise<void> {
  const { engine, logger } = services;
  const made = await listManagedContainers(services, signal);
  const { adopted, removed } = sortOrphans(made.map(toOrphan));
  for (const { id, app, deploymentId } of removed) {
    if (isDeploymentKnown(services, deploymentId)) continue;
    logger.warn({ app, deployment: deploymentId }, "an update was going on when the store was lost; it is undone");
    await engine.removeContainer(id, signal);
  }
  for (const { id } of adopted) {
    const container = made.find((one) => one.id === id);
    if (container) await adoptApp(container, services, signal);
  }
}

/** The containers of this agent. One with its labels and a foreign name is left alone, and said. */
async function listManagedContainers({ engine, config, store, logger }: DeployServices, signal: AbortSignal) {
  const all = await engine.listContainers(signal);
  const labelled = all.filter(({ labels }) => labels[LABELS.stateDir] === config.stateDir);
  const recorded = new Set(store.apps().map(({ containerId }) => containerId));
  for (const { id, name, labels } of labelled) {
    const app = labels[LABELS.app];
    if (app === undefined || recorded.has(id) || hasAgentGivenName(name, app)) continue;
    logger.warn({ app, container: name }, FOREIGN_NAME_MESSAGE);
  }
  return findManagedContainers(labelled, { engine, recorded }, signal);
}

const FOREIGN_NAME_MESSAGE =
  "a container carries the agent's labels under a name the agent does not give; it is taken for a copy and left alone";

async function adoptApp(container: ManagedContainer, services: DeployServices, signal: AbortSignal): Promise<void> {
  const { engine, store, logger } = services;
  const { id, app, deploymentId, labels } = container;
  if (isDeploymentKnown(services, deploymentId) || isInstalled(services, app)) return;
  const makeup = await engine.readContainerConfig(id, signal);
  const record =
    makeup &&
    adopt({ ...makeup, app, deploymentId, containerId: id, labels }, (spec) => {
      return hashSpec(spec) === labels[LABELS.specHash];
    });
  const log = logger.child({ app, deployment: deploymentId });
  // Cancelled since the look, or deployed.
  if (store.deployment(deploymentId) || store.finalStatusOf(deploymentId) === "Fail" || isInstalled(services, app))
    return;
  if (record) {
    store.save({ app: record });
    log.warn("an app was found by its container's labels and is looked after again");
  } else {
    log.error("a container carries the agent's labels, but what it runs is no valid app; it is left alone");
  }
}

/** Whether the store knows what to do with the deployment's containers. */
function isDeploymentKnown({ store }: DeployServices, deploymentId: string): boolean {
  return (
    store.apps().some((app) => app.deploymentId === deploymentId) ||
    store.deployments().some(({ id, previous }) => id === deploymentId || previous?.deploymentId === deploymentId)
  );
}

function isInstalled({ store }: DeployServices, app: string): boolean {
  return store.apps().some(({ name }) => name === app);
}

function toOrphan({ id, name, app, deploymentId, status }: ManagedContainer): Orphan {
  return { id, name, app, deploymentId, wasStarted: status !== "created" };
}
