import { parseImageReference } from "../../../protocol/apps/image-reference.ts";

/** An image the agent pulled, or was pulling when it was interrupted. */
export interface PulledImage {
  readonly reference: string;
  /** `null` until the pull has finished. */
  readonly id: string | null;
  /** Id of the image the reference named before the pull, which the agent does not own. */
  readonly before: string | null;
  /** Since when nothing needs it, in Unix milliseconds; `null` while it is needed. */
  readonly unneededSince: number | null;
  /** Its digest in the registry; absent where the agent does not know it. */
  readonly digest?: string;
}

export interface EngineImage {
  readonly id: string;
  readonly names: readonly string[];
  /** Bytes on disk. */
  readonly size: number;
}

export interface CleanupRules {
  /** How long an unneeded image is kept, in milliseconds. */
  readonly keepMs: number;
  /** Below this free share of the disk, from 0 to 1, unneeded images are removed at once. */
  readonly minFreeShare: number;
}

export interface CleanupView {
  readonly pulled: readonly PulledImage[];
  readonly images: readonly EngineImage[];
  /** Ids of images that apps use, used before their last update, or that pending deployments use. */
  readonly needed: ReadonlySet<string>;
  /** References of pending deployments. */
  readonly pulling: ReadonlySet<string>;
  /** Free share of the disk, from 0 to 1; `undefined` if unknown. */
  readonly freeDisk: number | undefined;
  readonly nowMs: number;
  /** The time by which is deleted; not after `nowMs`. */
  readonly deletionMs: number;
}

/** An image that may be removed, if it can be pulled again. */
export interface Removal {
  readonly id: string;
  /** Reference it was pulled by. */
  readonly reference: string;
  /** All its names; each was given by the agent. */
  readonly names: readonly string[];
  readonly bytes: number;
  readonly reason: "age" | "disk";
}

export interface CleanupPlan {
  /** Longest unneeded first. */
  readonly removals: readonly Removal[];
  /** The updated list of pulled images, without those that no longer exist. */
  readonly pulled: readonly PulledImage[];
}

/**
 * Plans which images to remove: never one that an app uses or may roll back to, one the agent did not pull, or one that
 * a person gave another name.
 */
export function planCleanup(view: CleanupView, { keepMs, minFreeShare }: CleanupRules): CleanupPlan {
  const pulled = view.pulled.flatMap((entry) => refreshEntry(entry, view));
  const isLow = view.freeDisk !== undefined && view.freeDisk < minFreeShare;
  const removals = pulled
    .filter(({ unneededSince }) => unneededSince !== null)
    .toSorted((a, b) => (a.unneededSince ?? 0) - (b.unneededSince ?? 0))
    .flatMap(({ id, reference, unneededSince }) => {
      const image = view.images.find((candidate) => candidate.id === id);
      if (!image || !isOwn(image, pulled)) return [];
      const isOld = view.deletionMs - (unneededSince ?? 0) >= keepMs;
      if (!isOld && !isLow) return [];
      const reason = isOld ? ("age" as const) : ("disk" as const);
      return [{ id: image.id, reference, names: image.names, bytes: image.size, reason }];
    });
  return { removals: removals.filter(({ id }, index) => firstIndexOf(removals, id) === index), pulled };
}

function firstIndexOf(removals: readonly Removal[], id: string): number {
  return removals.findIndex((removal) => removal.id === id);
}

/** Returns the updated entry of an image; nothing if it no longer exists, or was not pulled by the agent. */
function refreshEntry(entry: PulledImage, { images, needed, pulling, nowMs }: CleanupView): PulledImage[] {
  const id =
    entry.id ?? images.find(({ names }) => names.some((name) => matchesReference(name, entry.reference)))?.id ?? null;
  if (pulling.has(entry.reference)) return [{ ...entry, unneededSince: null }];
  if (id === null || id === entry.before || !images.some((image) => image.id === id)) return [];
  if (needed.has(id)) return [{ ...entry, id, unneededSince: null }];
  // Otherwise a clock that was set back would keep the image for years.
  const since = Math.min(entry.unneededSince ?? nowMs, nowMs);
  return [{ ...entry, id, unneededSince: since }];
}

/** Whether all names of the image come from the agent. One whose names moved to a newer image has none. */
function isOwn({ id, names }: EngineImage, pulled: readonly PulledImage[]): boolean {
  const own = pulled.filter((entry) => entry.id === id).map(({ reference }) => reference);
  return names.every((name) => own.some((reference) => isOwnName(name, reference)));
}

/** An image that was pulled by digest may have the digest as its tag. */
const DIGEST_TAG = /^sha256-[0-9a-f]{64}$/;

/** Whether the name, as an engine writes it, names the image of the reference. */
export function matchesReference(name: string, reference: string): boolean {
  const [one, other] = [parseImageReference(name), parseImageReference(reference)];
  if (!one || !other || !isSameRepository(one, other)) return false;
  if (other.digest === undefined) return one.digest === undefined && (one.tag ?? "latest") === (other.tag ?? "latest");
  return one.digest === other.digest || one.tag === other.digest.replace(":", "-");
}

/** Whether a pull of the reference may have given this name: its tag, or any digest. */
function isOwnName(name: string, reference: string): boolean {
  const [one, other] = [parseImageReference(name), parseImageReference(reference)];
  if (!one || !other || !isSameRepository(one, other)) return false;
  return one.digest !== undefined || DIGEST_TAG.test(one.tag ?? "") || matchesReference(name, reference);
}

type Named = Pick<NonNullable<ReturnType<typeof parseImageReference>>, "registry" | "repository">;

function isSameRepository(one: Named, other: Named): boolean {
  return one.registry === other.registry && one.repository === other.repository;
}
