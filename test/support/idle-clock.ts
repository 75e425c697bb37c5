import { type Clock, sleepWithTimer } from "../../src/lib/clock.ts";
import { FakeClock } from "./fake-clock.ts";

/** Turns of the event loop, and milliseconds, without a timer that has fired after which nothing goes on. */
const QUIET_TURNS = 100;
const QUIET_MS = 2;

/**
 * A clock for tests with real sockets between parts of this process: its time stands still while they are busy, however slow the
 * machine is, and jumps to the next timer when nothing else goes on.
 */
export class IdleClock implements Clock {
  readonly #clock = new FakeClock();
  #isWatching = false;

  now(): number {
    return this.#clock.now();
  }

  timeOfDay(): number {
    return this.#clock.now();
  }

  deletionTime(): number {
    return this.#clock.now();
  }

  monotonic(): number {
    return this.#clock.monotonic();
  }

  timer(ms: number, callback: () => void): Disposable {
    const timer = this.#clock.timer(ms, callback);
    if (!this.#isWatching) void this.#watch();
    return timer;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleepWithTimer(this, ms, signal);
  }

  async #watch(): Promise<void> {
    this.#isWatching = true;
    while (this.#clock.pending > 0) {
      await quiet();
      const ms = this.#clock.untilNext;
      if (ms !== undefined) await this.#clock.advance(ms);
    }
    this.#isWatching = false;
  }
}

async function quiet(): Promise<void> {
  const began = performance.now();
  for (let turn = 0; turn < QUIET_TURNS || performance.now() - began < QUIET_MS; turn++)
    await new Promise((resolve) => setImmediate(resolve));
}
