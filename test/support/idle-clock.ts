import { DrivenClock } from "./driven-clock.ts";
import type { FakeClock } from "./fake-clock.ts";

/** Turns of the event loop, and milliseconds, without a timer that has fired after which nothing goes on. */
const QUIET_TURNS = 100;
const QUIET_MS = 2;

/**
 * A clock for tests with real sockets between parts of this process: its time stands still while they are busy, however slow the
 * machine is, and jumps to the next timer when nothing else goes on.
 */
export class IdleClock extends DrivenClock {
  protected async advance(clock: FakeClock): Promise<void> {
    await quiet();
    const ms = clock.untilNext;
    if (ms !== undefined) await clock.advance(ms);
  }
}

async function quiet(): Promise<void> {
  const began = performance.now();
  for (let turn = 0; turn < QUIET_TURNS || performance.now() - began < QUIET_MS; turn++)
    await new Promise((resolve) => setImmediate(resolve));
}
