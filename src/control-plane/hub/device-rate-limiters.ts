import type { Clock } from "../../lib/clock.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";

/** Number of limiters below which idle ones are not evicted. */
const MIN_EVICTION_COUNT = 1_000;

/** One rate limiter per device, kept over reconnects. Idle ones are evicted. */
export class DeviceRateLimiters {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #perSecond: number;
  readonly #byDevice = new Map<string, RateLimiter>();
  #evictAtCount = MIN_EVICTION_COUNT;

  constructor(clock: Clock, burst: number, perSecond: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#perSecond = perSecond;
  }

  forDevice(assetUuid: string): RateLimiter {
    const known = this.#byDevice.get(assetUuid);
    if (known) return known;
    if (this.#byDevice.size >= this.#evictAtCount) this.#evictIdle();
    const limiter = new RateLimiter(this.#clock, this.#burst, this.#perSecond);
    this.#byDevice.set(assetUuid, limiter);
    return limiter;
  }

  #evictIdle(): void {
    for (const [assetUuid, limiter] of this.#byDevice) {
      if (limiter.isIdle) this.#byDevice.delete(assetUuid);
    }
    this.#evictAtCount = Math.max(MIN_EVICTION_COUNT, 2 * this.#byDevice.size);
  }
}
