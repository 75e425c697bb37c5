import type { FakeClock } from "../fake-clock.ts";

/** How much the clock moves before what it led to has passed over the sockets of this process, in milliseconds. */
const STEP_MS = 1_000;

/** Turns of the event loop in which nothing passes, after which nothing is under way on loopback. */
const QUIET_TURNS = 30;

/**
 * Moves the clock in seconds until a condition holds, each after everything that the second led to has passed over sockets
 * in this process: a busy machine takes longer, and sees the same.
 * @param passed a number that changes whenever something passes
 * @throws Error if the condition does not hold after that much time
 */
export async function letTimePass(
  what: string,
  clock: FakeClock,
  options: { readonly until: () => boolean; readonly passed: () => number; readonly maxMs: number },
): Promise<void> {
  const end = clock.monotonic() + options.maxMs;
  while (!options.until()) {
    if (clock.monotonic() >= end) throw new Error(`not within ${options.maxMs / 1_000} s: ${what}`);
    await clock.advance(STEP_MS);
    for (let quiet = 0, last = options.passed(); quiet < QUIET_TURNS; quiet++) {
      await new Promise((resolve) => setImmediate(resolve));
      const now = options.passed();
      if (now !== last) quiet = 0;
      last = now;
    }
  }
}
