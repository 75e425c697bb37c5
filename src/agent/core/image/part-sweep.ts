/** A partial download that is not in use. */
export interface SweepablePart {
  readonly digest: string;
  /** Bytes on disk. */
  readonly bytes: number;
  /** Unix milliseconds, by a clock that may have been wrong. */
  readonly changedAt: number;
}

export interface SweepBounds {
  /** How long an unused part is kept, in milliseconds. */
  readonly keepMs: number;
  /** Bytes to keep free on the disk of the parts. */
  readonly reserveBytes: number;
  /** A younger part is kept even if the disk is full: a download is likely to continue it. In milliseconds. */
  readonly minAgeMs: number;
}

/**
 * Returns the digests of the parts to remove: those unused for `keepMs`, and, while less than `reserveBytes` is free,
 * the oldest of the others.
 *
 * @param freeBytes `undefined` if unknown
 */
export function partsToRemove(
  parts: readonly SweepablePart[],
  freeBytes: number | undefined,
  nowMs: number,
  { keepMs, reserveBytes, minAgeMs }: SweepBounds,
): string[] {
  const removed: string[] = [];
  let free = freeBytes ?? reserveBytes;
  for (const { digest, bytes, changedAt } of parts.toSorted((a, b) => a.changedAt - b.changedAt)) {
    const age = nowMs - changedAt;
    if (age <= keepMs && (free >= reserveBytes || age < minAgeMs)) continue;
    removed.push(digest);
    free += bytes;
  }
  return removed;
}
