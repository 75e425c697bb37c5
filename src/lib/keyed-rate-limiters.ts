import type { Clock } from "./clock.ts";
import { RateLimiter } from "./rate-limiter.ts";

/** Number of limiters below which idle ones are not evicted. */
const MIN_EVICTION_COUNT = 1_000;

/** One rate limiter for each party, such as a device, kept over reconnects. Idle ones are evicted. */
export class KeyedRateLimiters {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #perSecond: number;
  readonly #byKey = new Map<string, RateLimiter>();
  #evictAtCount = MIN_EVICTION_COUNT;

  constructor(clock: Clock, burst: number, perSecond: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#perSecond = perSecond;
  }

  of(key: string): RateLimiter {
    const known = this.#byKey.get(key);
    if (known) return known;
    if (this.#byKey.size >= this.#evictAtCount) this.#evictIdle();
    const limiter = new RateLimiter(this.#clock, this.#burst, this.#perSecond);
    this.#byKey.set(key, limiter);
    return limiter;
  }

  /** Time until what this party was charged is within its rate, in milliseconds; 0 if it is. */
  waitMs(key: string): number {
    return this.#byKey.get(key)?.waitMs ?? 0;
  }

  /**
   * Charges `count` units and resolves to true when they are within the rate of this party. If it is already more than `maxWaitMs`
   * above it, charges nothing and resolves to false at once: the number of those who wait is bounded by it.
   */
  async enter(key: string, maxWaitMs: number, count = 1): Promise<boolean> {
    const limiter = this.of(key);
    if (limiter.waitMs > maxWaitMs) return false;
    const waitMs = limiter.charge(count);
    if (waitMs > 0) await this.#clock.sleep(waitMs);
    return true;
  }

  #evictIdle(): void {
    for (const [key, limiter] of this.#byKey) {
      if (limiter.isIdle) this.#byKey.delete(key);
    }
    this.#evictAtCount = Math.max(MIN_EVICTION_COUNT, 2 * this.#byKey.size);
  }
}
