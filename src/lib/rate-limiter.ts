import type { Clock } from "./clock.ts";

/** Lets through so many at once and so many a second after that; who comes too fast waits. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #perSecond: number;
  /** When the last one that was let through is paid for, by the monotonic clock. */
  #theoreticalArrivalMs = 0;

  constructor(clock: Clock, burst: number, perSecond: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#perSecond = perSecond;
  }

  /** Whether all that was let through is paid for. */
  get isIdle(): boolean {
    return this.#theoreticalArrivalMs <= this.#clock.monotonic();
  }

  /**
   * Resolves when it is this one's turn.
   *
   * @param count for how many it counts
   * @param signal when it aborts, it resolves at once, and who still waited then counts for nothing
   */
  async acquire(count = 1, signal?: AbortSignal): Promise<void> {
    const waitMs = this.charge(count);
    if (waitMs <= 0) return;
    try {
      await this.#clock.sleep(waitMs, signal);
    } catch (error) {
      if (!signal?.aborted) throw error;
      this.#theoreticalArrivalMs -= count * this.#intervalMs;
    }
  }

  /** Lets so many through at once; who comes next waits for them. Answers for how long, in milliseconds, if it is above 0. */
  charge(count: number): number {
    const now = this.#clock.monotonic();
    this.#theoreticalArrivalMs = Math.max(this.#theoreticalArrivalMs, now) + count * this.#intervalMs;
    return this.#theoreticalArrivalMs - now - this.#burst * this.#intervalMs;
  }

  get #intervalMs(): number {
    return 1000 / this.#perSecond;
  }
}
