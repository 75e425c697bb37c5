import type { Clock } from "../../lib/clock.ts";

/** The clock of a server: the time of records, and beside it that of deadlines. */
export interface ServiceClock extends Clock {
  /** Time for deadlines, in milliseconds: close to the time of day, but never jumps while the service runs. */
  serviceNow(): number;
}

/**
 * Returns the time of day, in Unix seconds, of a time for deadlines that is over. How long ago that is does not depend on what
 * became of the time of day since.
 */
export function unixTimeOf(serviceMs: number, clock: Pick<ServiceClock, "now" | "serviceNow">): number {
  const ageMs = Math.max(0, clock.serviceNow() - serviceMs);
  return Math.max(0, Math.floor((clock.now() - ageMs) / 1000));
}
