import type { Clock } from "../../lib/clock.ts";

/** Limits the rate of all transfers together. Received bytes are counted; a receiver ahead of the rate pauses. */
export class Throttle {
  readonly #clock: Clock;
  readonly #rate: () => number | undefined;
  #paidUntil = 0;

  /** @param rate returns bytes per second, `undefined` for no limit; called for each chunk */
  constructor(clock: Clock, rate: () => number | undefined) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Counts received bytes, and returns for how long to pause, in milliseconds. */
  take(bytes: number): number {
    const rate = this.#rate();
    const now = this.#clock.monotonic();
    if (rate === undefined || rate <= 0) return 0;
    this.#paidUntil = Math.max(this.#paidUntil, now) + (bytes / rate) * 1000;
    return this.#paidUntil - now;
  }
}
