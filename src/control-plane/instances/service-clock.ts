import type { Clock } from "../../lib/clock.ts";

/** Time for deadlines: close to the time of day, but never jumps while the service runs. */
export interface ServiceClock {
  /** Milliseconds. */
  serviceNow(): number;
}

/**
 * Returns the time of day, in Unix seconds, of a time of the service's clock that is over. How long ago that is does not depend
 * on what became of the time of day since.
 */
export function unixTimeOf(serviceMs: number, serviceClock: ServiceClock, clock: Pick<Clock, "now">): number {
  const ageMs = Math.max(0, serviceClock.serviceNow() - serviceMs);
  return Math.max(0, Math.floor((clock.now() - ageMs) / 1000));
}

/** Returns a service clock for one process. A deadline on record is measured anew when the next process starts. */
export function localServiceClock(clock: Pick<Clock, "now" | "monotonic">): ServiceClock {
  const offset = clock.now() - clock.monotonic();
  return { serviceNow: () => clock.monotonic() + offset };
}
