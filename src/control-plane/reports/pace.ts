import type { Clock } from "../../lib/clock.ts";

/** Lets through so many at once and so many a second after that; who comes too fast waits. */
export class Pace {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #perSecond: number;
  /** When the last one that was let through is paid for, by the monotonic clock. */
  #paidAtMs = 0;

  constructor(clock: Clock, burst: number, perSecond: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#perSecond = perSecond;
  }

  /** Whether all that was let through is paid for. */
  get isIdle(): boolean {
    return this.#paidAtMs <= this.#clock.monotonic();
  }

  /** Resolves when it is this one's turn. @param count for how many it counts */
  async turn(count = 1): Promise<void> {
    const now = this.#clock.monotonic();
    const costMs = 1000 / this.#perSecond;
    this.#paidAtMs = Math.max(this.#paidAtMs, now) + count * costMs;
    const waitMs = this.#paidAtMs - now - this.#burst * costMs;
    if (waitMs > 0) await this.#clock.sleep(waitMs);
  }
}
