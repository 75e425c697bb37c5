import { parseImageReference } from "../../../protocol/apps/image-reference.ts";

/** What is known of an image on the device. */
export interface ImageOrigin {
  readonly imageId: string;
  /** The engine's names of it with a digest. It has none of an image that it was given, or that it loaded itself. */
  readonly repoDigests: readonly string[];
  /** What was recorded when the agent resolved images. */
  readonly recorded: readonly RecordedDigest[];
}

export interface RecordedDigest {
  readonly reference: string;
  readonly imageId: string | null;
  readonly digest?: string | null | undefined;
}

/**
 * Returns the digests in the reference's repository by which the image is known, the recorded ones first. There may be
 * several: an index can change while the image for this platform stays the same.
 */
export function knownDigests(reference: string, { imageId, repoDigests, recorded }: ImageOrigin): string[] {
  const wanted = parseImageReference(reference);
  if (wanted?.digest !== undefined) return [wanted.digest];
  const isOfRepository = (name: string): boolean => isSameRepository(name, reference);
  const ofRecords = recorded
    .filter((entry) => entry.imageId === imageId && isOfRepository(entry.reference))
    .flatMap(({ digest }) => digest ?? []);
  const ofEngine = repoDigests.filter(isOfRepository).flatMap((name) => parseImageReference(name)?.digest ?? []);
  return [...new Set([...ofRecords, ...ofEngine])];
}

/** Whether two references name the same repository, by any tag or digest. */
export function isSameRepository(one: string, other: string): boolean {
  const [a, b] = [parseImageReference(one), parseImageReference(other)];
  return a !== undefined && a.registry === b?.registry && a.repository === b.repository;
}
