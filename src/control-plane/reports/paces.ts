import type { Clock } from "../../lib/clock.ts";
import { Pace } from "./pace.ts";

/** Below so many, idle ones are not worth looking for. */
const MIN_KEPT = 1_000;

/** One pace for each device, also over its reconnects. Those that are idle are forgotten. */
export class Paces {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #perSecond: number;
  readonly #byDevice = new Map<string, Pace>();
  #reviewAt = MIN_KEPT;

  constructor(clock: Clock, burst: number, perSecond: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#perSecond = perSecond;
  }

  of(assetUuid: string): Pace {
    const known = this.#byDevice.get(assetUuid);
    if (known) return known;
    if (this.#byDevice.size >= this.#reviewAt) this.#forgetIdle();
    const pace = new Pace(this.#clock, this.#burst, this.#perSecond);
    this.#byDevice.set(assetUuid, pace);
    return pace;
  }

  #forgetIdle(): void {
    for (const [assetUuid, pace] of this.#byDevice) {
      if (pace.isIdle) this.#byDevice.delete(assetUuid);
    }
    this.#reviewAt = Math.max(MIN_KEPT, 2 * this.#byDevice.size);
  }
}
