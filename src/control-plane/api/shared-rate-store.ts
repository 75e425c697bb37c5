import type { Clock } from "../../lib/clock.ts";
import type { SharedCounts } from "../instances/shared-counts.ts";

const WINDOW_MS = 60_000;
/** Keys that are counted in a minute. With more, the oldest one begins again. */
const MAX_KEYS = 50_000;
/** What is a smaller part of the limit is not worth a message. */
const MIN_SHARED_PART = 0.05;

interface Count {
  readonly current: number;
  /** Milliseconds until the count begins again. */
  readonly ttl: number;
}

/**
 * Counts requests by key in each minute, over all instances: those that others have counted, and told this one, are added. The
 * minutes are those of the time that instances share.
 */
export class SharedRateCounter {
  readonly #counts: SharedCounts;
  readonly #clock: Clock;
  readonly #kind: string;
  readonly #minShared: number;
  #window = 0;
  #own = new Map<string, number>();

  /**
   * @param kind what is counted, such as requests by key
   * @param limit of one minute
   */
  constructor(kind: string, limit: number, counts: SharedCounts, clock: Clock) {
    this.#kind = kind;
    this.#minShared = Math.ceil(limit * MIN_SHARED_PART);
    this.#counts = counts;
    this.#clock = clock;
  }

  count(key: string): Count {
    const now = this.#clock.now();
    const window = Math.floor(now / WINDOW_MS);
    if (window !== this.#window) {
      this.#window = window;
      this.#own = new Map();
    }
    const own = (this.#own.get(key) ?? 0) + 1;
    const [oldest] = this.#own.keys();
    if (own === 1 && this.#own.size >= MAX_KEYS && oldest !== undefined) this.#own.delete(oldest);
    this.#own.set(key, own);
    const ttl = (window + 1) * WINDOW_MS - now;
    const name = `${this.#kind}:${window}:${key}`;
    if (own >= this.#minShared) this.#counts.set(name, own, ttl);
    return { current: own + this.#counts.others(name), ttl };
  }
}

/** Returns a store for `@fastify/rate-limit`, which makes an instance of its own for each place. */
export function rateStoreOf(counter: SharedRateCounter) {
  return class RateStore {
    incr(key: string, callback: (error: Error | null, result?: Count) => void): void {
      callback(null, counter.count(key));
    }

    child(): RateStore {
      return this;
    }
  };
}
