import type { Clock } from "../../lib/clock.ts";
import { RateLimiter } from "../../lib/rate-limiter.ts";

/** Below so many, idle ones are not worth looking for. */
const MIN_EVICTION_COUNT = 1_000;

/** One pace for each device, also over its reconnects. Those that are idle are forgotten. */
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
    const pace = new RateLimiter(this.#clock, this.#burst, this.#perSecond);
    this.#byDevice.set(assetUuid, pace);
    return pace;
  }

  #evictIdle(): void {
    for (const [assetUuid, pace] of this.#byDevice) {
      if (pace.isIdle) this.#byDevice.delete(assetUuid);
    }
    this.#evictAtCount = Math.max(MIN_EVICTION_COUNT, 2 * this.#byDevice.size);
  }
}
