import { parseImageReference } from "../../../protocol/apps/image-reference.ts";
import type { AppRecord, DeploymentRecord } from "../records.ts";
import { matchesReference, type EngineImage, type PulledImage } from "./image-cleanup.ts";

/** The images that a fleet keeps on the device while a rollout may go back to them. */
export interface FleetImages {
  readonly fleet: string;
  /** References with digests. */
  readonly images: readonly string[];
}

/**
 * Returns the lists after a fleet's apply: its list replaces the earlier one, and an empty one removes it. Lists of fleets
 * that have nothing on the device any more are dropped.
 */
export function replaceFleetImages(
  lists: readonly FleetImages[],
  changed: FleetImages,
  isPresent: (fleet: string) => boolean,
): FleetImages[] {
  const others = lists.filter(({ fleet }) => fleet !== changed.fleet && isPresent(fleet));
  return changed.images.length > 0 ? [...others, changed] : others;
}

/**
 * Returns the fleets that have an app on the device, or a deployment whose end is not acknowledged: only their images are
 * kept.
 */
export function presentFleets(apps: readonly AppRecord[], deployments: readonly DeploymentRecord[]): Set<string> {
  const marks = [...apps, ...deployments.flatMap(({ previous }) => previous ?? [])].map(({ fleet }) => fleet);
  const applied = deployments.map(({ apply }) => apply?.fleet);
  return new Set([...marks, ...applied].flatMap((fleet) => (fleet ? [fleet.name] : [])));
}

/** Returns the ids of the images that one of the references names, by a name in the engine or by the digest of its pull. */
export function keptImageIds(
  references: readonly string[],
  { images, pulled }: { readonly images: readonly EngineImage[]; readonly pulled: readonly PulledImage[] },
): string[] {
  const named = images.filter(({ names }) =>
    names.some((name) => references.some((reference) => matchesReference(name, reference))),
  );
  const fetched = pulled.flatMap(({ id, reference, digest }) => {
    const name = digest === undefined ? reference : withDigest(reference, digest);
    return id !== null && references.some((kept) => matchesReference(name, kept)) ? [id] : [];
  });
  return [...named.map(({ id }) => id), ...fetched];
}

function withDigest(reference: string, digest: string): string {
  const parsed = parseImageReference(reference);
  return parsed?.digest === undefined ? `${reference}@${digest}` : reference;
}
