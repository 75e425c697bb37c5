import { normalizePath } from "../../../protocol/values/normalize-path.ts";
import { bindsOf, type VolumeEntry } from "../../../protocol/apps/volume-fields.ts";

/*
 * What engines do not return of an app's volumes: the names of those of the engine, and owners. An app that uses
 * either has all its volumes in the `extras` label, in their order; of other apps they are read from the container.
 */

/** What a container mounts of the device, as the engine returns it. */
export interface MountedPath {
  readonly local: string;
  readonly target: string;
  readonly readonly: boolean;
}

interface HasVolumes {
  readonly volumes: readonly VolumeEntry[];
}

/** Returns the volumes for the `extras` label; `{}` if the container says everything of them. */
export function volumeExtras({ volumes }: HasVolumes): { readonly volumes?: VolumeEntry[] } {
  const isPlain = volumes.every((volume) => "local" in volume && volume.owner === undefined);
  return isPlain ? {} : { volumes: volumes.map(canonicalVolume) };
}

function canonicalVolume(volume: VolumeEntry): VolumeEntry {
  const mount = { target: normalizePath(volume.target), readonly: volume.readonly };
  if ("external" in volume)
    return { external: volume.external, ...mount, ...(volume.nocopy && { nocopy: true }), ...subpathOf(volume) };
  const rest = { ...mount, ...(volume.owner !== undefined && { owner: volume.owner }) };
  if ("local" in volume) return { local: normalizePath(volume.local), ...rest };
  const { name, nocopy, shared } = volume;
  return { name, ...rest, ...(nocopy && { nocopy }), ...(shared && { shared }), ...subpathOf(volume) };
}

function subpathOf({ subpath }: { readonly subpath?: string }): { readonly subpath?: string } {
  return subpath === undefined ? {} : { subpath };
}

/**
 * Returns the volumes a container was created with. @param label those of its `extras` label; `undefined` if it has none
 */
export function volumesOfContainer(label: unknown, mounted: readonly MountedPath[]): unknown {
  if (label === undefined) return mounted;
  // The mount policy judges what is on record, so the record must have every path that the container mounts.
  return isListed(label) && isSameMounts(bindsOf({ volumes: label }), mounted) ? label : UNREADABLE;
}

/** Not a list, so parsing rejects it. */
const UNREADABLE = null;

function isListed(label: unknown): label is VolumeEntry[] {
  return (
    Array.isArray(label) &&
    label.every(
      (entry: unknown) =>
        typeof entry === "object" &&
        entry !== null &&
        "target" in entry &&
        typeof entry.target === "string" &&
        ("name" in entry || "external" in entry || ("local" in entry && typeof entry.local === "string")),
    )
  );
}

function isSameMounts(listed: readonly MountedPath[], mounted: readonly MountedPath[]): boolean {
  const [one, other] = [listed, mounted].map((mounts) => JSON.stringify(mounts.map(toText).toSorted()));
  return one === other;
}

function toText({ local, target, readonly }: MountedPath): string {
  return JSON.stringify([normalizePath(local), normalizePath(target), readonly]);
}
