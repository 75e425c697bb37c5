import type { AppRecord, DeploymentRecord } from "../deployment/record.ts";

/** Images that must stay on the device. */
export interface ImagesNeeded {
  readonly ids: ReadonlySet<string>;
  /** References of what is being deployed: between its pull and the next write an image is known by nothing else. */
  readonly references: ReadonlySet<string>;
}

/**
 * The images something may still be made from, with no registry at hand: what runs or is stopped, what it ran from
 * before its last update, and everything a deployment that is not over may need on its way forth or back.
 *
 * @param deployments those whose end nobody holds yet
 */
export function imagesNeeded(apps: readonly AppRecord[], deployments: readonly DeploymentRecord[]): ImagesNeeded {
  const all = [...apps, ...deployments.flatMap(({ previous }) => previous ?? [])];
  const ids = [
    ...all.flatMap(({ imageId, previousImageId }) => [imageId, previousImageId]),
    ...deployments.map(({ imageId }) => imageId),
  ];
  return {
    ids: new Set(ids.filter((id) => id !== undefined)),
    references: new Set(deployments.flatMap(({ spec }) => (spec ? [spec.image] : []))),
  };
}
