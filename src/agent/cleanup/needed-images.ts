import type { AppRecord, DeploymentRecord } from "../core/deployment/record.ts";

export interface NeededImages {
  /** Ids of images that must stay. */
  readonly ids: ReadonlySet<string>;
  /** References that deployments are at work with. */
  readonly references: ReadonlySet<string>;
}

/** What apps run from or would go back to, and what deployments are at work with, or could still be undone to. */
export function neededImages(store: {
  apps(): readonly AppRecord[];
  deployments(): readonly DeploymentRecord[];
}): NeededImages {
  const deployments = store.deployments();
  const ids = [
    ...store.apps().flatMap(imagesOf),
    ...deployments.flatMap(({ imageId, previous }) => [imageId, ...(previous ? imagesOf(previous) : [])]),
  ];
  const pending = deployments.filter(({ outcome }) => outcome === "pending");
  return {
    ids: new Set(ids.filter((id) => id !== undefined)),
    references: new Set(pending.flatMap(({ spec }) => spec?.image ?? [])),
  };
}

function imagesOf({ imageId, previousImageId }: AppRecord): (string | undefined)[] {
  return [imageId, previousImageId];
}
