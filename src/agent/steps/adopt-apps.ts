import { adopt, sortOrphans, type Orphan } from "../core/app/adopt.ts";
import { isLeftover } from "../core/app/container-decision.ts";
import { hasAgentGivenName, LABELS, hasLeftoverName } from "../core/app/container.ts";
import { recoverFiles } from "../files/recover.ts";
import { type ManagedContainer, findManagedContainers } from "../engine/managed-containers.ts";
import type { DeployServices } from "./context.ts";
import { hashSpec } from "./create.ts";

/**
 * Adopts orphans: enters every app into the store that it does not know and whose container has this agent's labels and
 * one of the names it gives. After the store was lost, the engine is the only record of the apps. Resolves to whether all were
 * looked at: one that has crashed the agent again and again is left out until its pause is over.
 */
export async function adoptApps(services: DeployServices, signal: AbortSignal): Promise<boolean> {
  const { engine, logger, crashGuard } = services;
  const managed = await listManagedContainers(services, signal);
  const { adopted, removed } = sortOrphans(managed.map(toOrphan));
  for (const { id, app, deploymentId } of removed) {
    if (isDeploymentKnown(services, deploymentId)) continue;
    logger.warn(
      { app, deployment: deploymentId },
      "an update was in progress when the store was lost; its new version is removed",
    );
    await engine.removeContainer(id, signal);
  }
  let isComplete = true;
  for (const { id } of adopted) {
    const container = managed.find((candidate) => candidate.id === id);
    if (!container) continue;
    const work = `adoption of ${container.app}`;
    if (crashGuard.held(work)) isComplete = false;
    await crashGuard.run(work, () => adoptApp(container, services, signal), signal);
  }
  return isComplete;
}

/** Lists this agent's containers. One with its labels under a foreign name is logged and left alone. */
async function listManagedContainers({ engine, config, store, logger }: DeployServices, signal: AbortSignal) {
  const all = await engine.listContainers(signal);
  const labelled = all.filter(({ labels, name, status }) => {
    const isOver = isLeftover(status) || hasLeftoverName(name, labels[LABELS.app] ?? "");
    return labels[LABELS.stateDir] === config.stateDir && !isOver;
  });
  const recorded = new Set(store.apps().map(({ containerId }) => containerId));
  for (const { id, name, labels } of labelled) {
    const app = labels[LABELS.app];
    if (app === undefined || recorded.has(id) || hasAgentGivenName(name, app)) continue;
    logger.warn({ app, container: name }, FOREIGN_NAME_MESSAGE);
  }
  return findManagedContainers(labelled, { engine, recorded }, signal);
}

const FOREIGN_NAME_MESSAGE =
  "a container has the agent's labels under a name the agent does not give; it is treated as a copy and left alone";

const FILES_LOST_MESSAGE =
  "the contents of some of its files could not be read back; it runs on, and cannot be created again until it is updated with these files";

async function adoptApp(container: ManagedContainer, services: DeployServices, signal: AbortSignal): Promise<void> {
  const { engine, store, logger } = services;
  const { id, app, deploymentId, labels } = container;
  if (isDeploymentKnown(services, deploymentId) || isInstalled(services, app)) return;
  const containerConfig = await engine.readContainerConfig(id, signal);
  const record =
    containerConfig &&
    adopt({ ...containerConfig, app, deploymentId, containerId: id, labels }, (spec) => {
      return hashSpec(spec) === labels[LABELS.specHash];
    });
  const log = logger.child({ app, deployment: deploymentId });
  const files = record && (await recoverFiles(services, record, signal));
  // It may have been cancelled or deployed since the check.
  if (store.deployment(deploymentId) || store.finalStatusOf(deploymentId) === "Fail" || isInstalled(services, app))
    return;
  if (record) {
    store.save({ app: record, ...(files && { fileContents: files.contents }) });
    log.warn("an app was adopted by its container's labels");
    if (files && files.lost.length > 0) log.error({ files: files.lost }, FILES_LOST_MESSAGE);
  } else {
    log.error("a container has the agent's labels, but its configuration is not a valid app; it is left alone");
  }
}

/** Whether the store has an app or a deployment record for the deployment's containers. */
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
