import { containerName, hasAgentGivenName, hasLeftoverName, hasTemporaryName, LABELS } from "../core/app/container.ts";
import { isLeftover } from "../core/app/container-decision.ts";
import type { AppRecord } from "../core/records.ts";
import type { ContainerSummary, Engine } from "./engine.ts";

/** A container that the agent created. */
export interface ManagedContainer extends ContainerSummary {
  /** Name of its app. */
  readonly app: string;
  readonly deploymentId: string;
}

export interface OwnershipContext {
  readonly engine: Pick<Engine, "readContainerConfig">;
  /** Ids of containers recorded in the store. They remain managed even if a person renames them. */
  readonly recorded: ReadonlySet<string>;
}

/**
 * Returns those containers with the agent's labels that the agent created, recorded ones first. Labels alone are no
 * proof: containers inherit them from images, and `docker commit` copies a container's labels into an image. A
 * container is managed if its id is recorded, or if it has a name the agent gives and its deployment label is not
 * inherited from its image, as after a crash between creation and recording.
 */
export async function findManagedContainers(
  labelled: readonly ContainerSummary[],
  { engine, recorded }: OwnershipContext,
  signal: AbortSignal,
): Promise<ManagedContainer[]> {
  const [known, others]: [ManagedContainer[], ManagedContainer[]] = [[], []];
  for (const container of labelled) {
    const { [LABELS.app]: app, [LABELS.deployment]: deploymentId } = container.labels;
    if (app === undefined || deploymentId === undefined) continue;
    const managed = { ...container, app, deploymentId };
    if (recorded.has(container.id)) known.push(managed);
    else if (hasAgentGivenName(container.name, app) && !(await isLabelInherited(managed, engine, signal)))
      others.push(managed);
  }
  return [...known, ...others];
}

/**
 * Returns the container of an app whose network another app has: during an update the one that is in the app's place.
 * `undefined` if there is none.
 */
export function findNetworkContainer(
  app: string,
  all: readonly ContainerSummary[],
  stateDir: string,
): ContainerSummary | undefined {
  const own = all.filter(({ labels, name, status }) => {
    const isOfApp = labels[LABELS.app] === app && labels[LABELS.stateDir] === stateDir;
    return isOfApp && !isLeftover(status) && !hasTemporaryName(name, app) && !hasLeftoverName(name, app);
  });
  return own.find(({ name }) => name === containerName(app)) ?? own[0];
}

/** Whether a container has the network of one that is gone, or only could not be removed: it can never run again. */
export function hasLostNetwork({ labels }: ContainerSummary, all: readonly ContainerSummary[]): boolean {
  const joined = labels[LABELS.networkOf] ?? "";
  const owner = all.find(({ id }) => id === joined);
  return joined !== "" && (!owner || hasLeftoverName(owner.name, owner.labels[LABELS.app] ?? ""));
}

/** Returns an installed app's containers, its recorded one first. An app normally has one. */
export async function findAppContainers(
  { containerId, deploymentId }: Pick<AppRecord, "containerId" | "deploymentId">,
  all: readonly ContainerSummary[],
  engine: OwnershipContext["engine"],
  signal: AbortSignal,
): Promise<ManagedContainer[]> {
  const labelled = all.filter(({ labels }) => labels[LABELS.deployment] === deploymentId);
  return await findManagedContainers(labelled, { engine, recorded: new Set([containerId]) }, signal);
}

/** Whether the container inherited its deployment label from its image. Also true if it no longer exists. */
async function isLabelInherited(
  { id, deploymentId }: ManagedContainer,
  engine: OwnershipContext["engine"],
  signal: AbortSignal,
): Promise<boolean> {
  const config = await engine.readContainerConfig(id, signal);
  return !config || config.imageLabels?.[LABELS.deployment] === deploymentId;
}
