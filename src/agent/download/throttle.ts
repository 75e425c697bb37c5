import type { Clock } from "../../lib/clock.ts";

/** Holds what is received to a rate, all transfers together. What came is counted; whoever is ahead of the rate waits. */
export class Throttle {
  readonly #clock: Clock;
  readonly #rate: () => number | undefined;
  #paidUntil = 0;

  /** @param rate bytes per second, asked for with each piece; `undefined` for no bound */
  constructor(clock: Clock, rate: () => number | undefined) {
    this.#clock = clock;
    this.#rate = rate;
  }

  /** Counts bytes that came, and answers how long to take no more, in milliseconds. */
  take(bytes: number): number {
    const rate = this.#rate();
    const now = this.#clock.monotonic();
    if (rate === undefined || rate <= 0) return 0;
    this.#paidUntil = Math.max(this.#paidUntil, now) + (bytes / rate) * 1000;
    return this.#paidUntil - now;
  }
}
