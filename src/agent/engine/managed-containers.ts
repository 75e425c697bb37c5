import { hasAgentGivenName, LABELS } from "../core/app/container.ts";
import type { AppRecord } from "../core/deployment/record.ts";
import type { ContainerSummary, Engine } from "./engine.ts";

/** A container that the agent made. */
export interface ManagedContainer extends ContainerSummary {
  /** Name of the app it is of. */
  readonly app: string;
  readonly deploymentId: string;
}

export interface OwnershipContext {
  readonly engine: Pick<Engine, "readContainerConfig">;
  /** Ids of containers the store holds as an app's. They stay an app's whatever name a person gives them. */
  readonly recorded: ReadonlySet<string>;
}

/**
 * Returns those containers that the agent made, of some that carry its labels; recorded ones first. Labels alone prove
 * nothing: an image brings its own, and `docker commit` copies those of a container into an image, so that every
 * container of it carries them. A container is the agent's if its id is on record, or else, as after a crash between its
 * creation and the record of it, if it has a name the agent gives and its deployment label does not come from its image.
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
    const own = { ...container, app, deploymentId };
    if (recorded.has(container.id)) known.push(own);
    else if (hasAgentGivenName(container.name, app) && !(await isLabelInherited(own, engine, signal))) others.push(own);
  }
  return [...known, ...others];
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

/** Whether the container has its deployment label from its image. One that is gone meanwhile is nobody's. */
async function isLabelInherited(
  { id, deploymentId }: ManagedContainer,
  engine: OwnershipContext["engine"],
  signal: AbortSignal,
): Promise<boolean> {
  const makeup = await engine.readContainerConfig(id, signal);
  return !makeup || makeup.imageLabels?.[LABELS.deployment] === deploymentId;
}
