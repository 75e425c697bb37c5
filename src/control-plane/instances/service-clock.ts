import type { Clock } from "../../lib/clock.ts";

/** Time for deadlines: close to the time of day, but never jumps while the service runs. */
export interface ServiceClock {
  /** Milliseconds. */
  serviceNow(): number;
}

/** Returns a service clock for one process. A deadline on record is measured anew when the next process starts. */
export function localServiceClock(clock: Pick<Clock, "now" | "monotonic">): ServiceClock {
  const offset = clock.now() - clock.monotonic();
  return { serviceNow: () => clock.monotonic() + offset };
}
