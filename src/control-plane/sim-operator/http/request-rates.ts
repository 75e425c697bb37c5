import type { Clock } from "../../../lib/clock.ts";
import { RateLimiter } from "../../../lib/rate-limiter.ts";

/**
 * A rate that an operator's limit allows: `burst` requests at once, then `perSecond`. In any time of `t` seconds there are
 * at most `burst + t * perSecond` of them.
 */
export interface RequestRate {
  readonly burst: number;
  readonly perSecond: number;
  /** For paths, with query, that match; default: all. */
  readonly paths?: RegExp;
}

/** Keeps requests within all rates of an operator. */
export class RequestRates {
  readonly #rates: readonly { readonly paths: RegExp | undefined; readonly limiter: RateLimiter }[];

  constructor(clock: Clock, rates: readonly RequestRate[]) {
    this.#rates = rates.map(({ burst, perSecond, paths }) => ({
      paths,
      limiter: new RateLimiter(clock, burst, perSecond),
    }));
  }

  /** Resolves when the request may be sent. Rejects with the signal's reason when it aborts. */
  async acquire(path: string, signal: AbortSignal): Promise<void> {
    for (const { paths, limiter } of this.#rates) {
      if (paths?.test(path) !== false) await limiter.acquire(1, signal);
      signal.throwIfAborted();
    }
  }
}
