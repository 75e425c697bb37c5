/** A partial download that nobody works on. */
export interface SweepablePart {
  readonly digest: string;
  /** Bytes on disk. */
  readonly bytes: number;
  /** Milliseconds since the Unix epoch, by a clock that may have been wrong. */
  readonly changedAt: number;
}

export interface SweepBounds {
  /** How long a part is kept that nobody asks for, in milliseconds. */
  readonly keepMs: number;
  /** Free bytes that must remain on the disk of the parts. */
  readonly reserveBytes: number;
  /** A part as young as that stays however short the disk is: somebody is about to go on with it. In milliseconds. */
  readonly minAgeMs: number;
}

/**
 * Which parts are not worth keeping: those nobody asked for in a long time, and where the disk is short, the oldest ones
 * until it is not. What was paid for is not given up for less.
 *
 * @param freeBytes `undefined` where that cannot be seen
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
