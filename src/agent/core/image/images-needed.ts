import type { AppRecord, DeploymentRecord } from "../records.ts";

/** Images that must stay on the device. */
export interface ImagesNeeded {
  readonly ids: ReadonlySet<string>;
  /** References of pending deployments: between its pull and the next write an image is known by nothing else. */
  readonly references: ReadonlySet<string>;
}

/**
 * Images a container may still be created from without a registry: those of all apps, stopped ones too, and of their
 * previous versions, and those of deployments and of their rollback.
 *
 * @param deployments those whose end is not acknowledged yet
 */
export function imagesNeeded(apps: readonly AppRecord[], deployments: readonly DeploymentRecord[]): ImagesNeeded {
  const all = [...apps, ...deployments.flatMap(({ previous }) => previous ?? [])];
  const ids = [
    ...all.flatMap(({ imageId, previousImageId }) => [imageId, previousImageId]),
    ...deployments.map(({ imageId }) => imageId),
  ];
  const pending = deployments.filter(({ outcome }) => outcome === "pending");
  return {
    ids: new Set(ids.filter((id) => id !== undefined)),
    references: new Set(pending.flatMap(({ spec }) => spec?.image ?? [])),
  };
}
