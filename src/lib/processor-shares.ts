import type { Clock } from "./clock.ts";
import { KeyedRateLimiters } from "./keyed-rate-limiters.ts";

/** The dearest bytes are read faster than this. What takes longer was held up by others on the machine. */
const MIN_BYTES_PER_MS = 16 * 1024;

/**
 * Bounds the processor time that reading messages of one party takes, whatever makes them dear: others wait for it, since the
 * event loop does nothing else meanwhile. A message is read whole, and the next one waits until the party is within its share.
 */
export class ProcessorShares {
  readonly #clock: Clock;
  readonly #limiters: KeyedRateLimiters;

  /** @param burstMs milliseconds that a party may use at once, and then `msPerSecond` in each second */
  constructor(clock: Clock, burstMs: number, msPerSecond: number) {
    this.#clock = clock;
    this.#limiters = new KeyedRateLimiters(clock, burstMs, msPerSecond);
  }

  /** Time until the next message of this party may be read, in milliseconds; 0 if it may. */
  waitMs(key: string): number {
    return this.#limiters.waitMs(key);
  }

  /** Reads a message of this size, and charges the time that it takes. */
  run<T>(key: string, bytes: number, work: () => T): T {
    const since = this.#clock.monotonic();
    try {
      return work();
    } finally {
      this.charge(key, bytes, since);
    }
  }

  /** Charges for what was done with a message of this size since then, on the clock's `monotonic`. */
  charge(key: string, bytes: number, since: number): void {
    const ms = Math.min(this.#clock.monotonic() - since, bytes / MIN_BYTES_PER_MS);
    if (ms > 0) this.#limiters.of(key).charge(ms);
  }
}
