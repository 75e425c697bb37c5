import { parseImageReference } from "../../../protocol/image-reference.ts";

/** An image the agent had pulled, or was about to when it was cut off. */
export interface PulledImage {
  readonly reference: string;
  /** `null` until the pull is over. */
  readonly id: string | null;
  /** What the reference stood for before: that image is not the agent's. */
  readonly before: string | null;
  /** Since when no app needs it, by the time of day in milliseconds; `null` while one does. */
  readonly unneededSince: number | null;
}

export interface PresentImage {
  readonly id: string;
  readonly names: readonly string[];
  /** Bytes on disk. */
  readonly size: number;
}

export interface CleanupRules {
  /** An image that nothing needs is kept for so long, in milliseconds. */
  readonly keepMs: number;
  /** With less of the disk free than this share, from 0 to 1, images that nothing needs go at once. */
  readonly minFreeShare: number;
}

export interface CleanupView {
  readonly pulled: readonly PulledImage[];
  readonly images: readonly PresentImage[];
  /** Ids of images that apps run from, ran from before their last update, or that deployments are at work with. */
  readonly needed: ReadonlySet<string>;
  /** References that deployments are at work with. */
  readonly pulling: ReadonlySet<string>;
  /** Share of the disk that is free, from 0 to 1; `undefined` where that cannot be seen. */
  readonly freeDisk: number | undefined;
  readonly nowMs: number;
}

/** An image that may go, if its registry can be reached. */
export interface Removal {
  readonly id: string;
  /** What it was pulled as. */
  readonly reference: string;
  /** Every name it has; all are the agent's. */
  readonly names: readonly string[];
  readonly bytes: number;
  readonly reason: "age" | "disk";
}

export interface CleanupPlan {
  /** The oldest come first. */
  readonly removals: readonly Removal[];
  /** What is to be remembered from now on: images that are gone are not. */
  readonly pulled: readonly PulledImage[];
}

/**
 * Which images may go. Never one that an app runs from or would go back to, nor one the agent did not pull, nor one that
 * somebody gave a name of their own.
 */
export function planCleanup(view: CleanupView, { keepMs, minFreeShare }: CleanupRules): CleanupPlan {
  const pulled = view.pulled.flatMap((entry) => refreshed(entry, view));
  const isLow = view.freeDisk !== undefined && view.freeDisk < minFreeShare;
  const removals = pulled
    .filter(({ unneededSince }) => unneededSince !== null)
    .toSorted((a, b) => (a.unneededSince ?? 0) - (b.unneededSince ?? 0))
    .flatMap(({ id, reference, unneededSince }) => {
      const image = view.images.find((candidate) => candidate.id === id);
      if (!image || !isOwn(image, pulled)) return [];
      const isOld = view.nowMs - (unneededSince ?? 0) >= keepMs;
      if (!isOld && !isLow) return [];
      const reason = isOld ? ("age" as const) : ("disk" as const);
      return [{ id: image.id, reference, names: image.names, bytes: image.size, reason }];
    });
  return { removals: removals.filter(({ id }, index) => firstIndexOf(removals, id) === index), pulled };
}

function firstIndexOf(removals: readonly Removal[], id: string): number {
  return removals.findIndex((removal) => removal.id === id);
}

/** What is known of an image now; nothing where it is gone, or never was the agent's. */
function refreshed(entry: PulledImage, { images, needed, pulling, nowMs }: CleanupView): PulledImage[] {
  const id =
    entry.id ?? images.find(({ names }) => names.some((name) => matchesReference(name, entry.reference)))?.id ?? null;
  if (pulling.has(entry.reference)) return [{ ...entry, unneededSince: null }];
  if (id === null || id === entry.before || !images.some((image) => image.id === id)) return [];
  if (needed.has(id)) return [{ ...entry, id, unneededSince: null }];
  // A clock that was set back would keep it for years.
  const since = Math.min(entry.unneededSince ?? nowMs, nowMs);
  return [{ ...entry, id, unneededSince: since }];
}

/** An image somebody else has given a name to is theirs as well. One whose name went over to a newer one has none. */
function isOwn({ id, names }: PresentImage, pulled: readonly PulledImage[]): boolean {
  const own = pulled.filter((entry) => entry.id === id).map(({ reference }) => reference);
  return names.every((name) => own.some((reference) => isOwnName(name, reference)));
}

/** Engines write names in their own ways; what was pulled by its digest may have a tag that says it. */
const DIGEST_TAG = /^sha256-[0-9a-f]{64}$/;

/** Whether the image of this name is the one the reference stands for. */
function matchesReference(name: string, reference: string): boolean {
  const [one, other] = [parseImageReference(name), parseImageReference(reference)];
  if (!one || !other || !isSameRepository(one, other)) return false;
  if (other.digest === undefined) return one.digest === undefined && (one.tag ?? "latest") === (other.tag ?? "latest");
  return one.digest === other.digest || one.tag === other.digest.replace(":", "-");
}

/** Whether an image that was pulled by the reference may have this name from that: the tag, or any digest. */
function isOwnName(name: string, reference: string): boolean {
  const [one, other] = [parseImageReference(name), parseImageReference(reference)];
  if (!one || !other || !isSameRepository(one, other)) return false;
  return one.digest !== undefined || DIGEST_TAG.test(one.tag ?? "") || matchesReference(name, reference);
}

type Named = Pick<NonNullable<ReturnType<typeof parseImageReference>>, "registry" | "repository">;

function isSameRepository(one: Named, other: Named): boolean {
  return one.registry === other.registry && one.repository === other.repository;
}
