import type { Clock } from "./clock.ts";

/** A signal, or what returns it when it is needed. */
export type SignalSource = AbortSignal | (() => AbortSignal);

/** Limits a rate (GCRA): `burst` at once, then `perSecond`. Callers above the rate wait. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #burst: number;
  readonly #perSecond: number;
  /** GCRA's theoretical arrival time, in monotonic milliseconds: when all admitted units are within the rate. */
  #theoreticalArrivalMs = 0;

  constructor(clock: Clock, burst: number, perSecond: number) {
    this.#clock = clock;
    this.#burst = burst;
    this.#perSecond = perSecond;
  }

  /** Whether the full burst is available. */
  get isIdle(): boolean {
    return this.#theoreticalArrivalMs <= this.#clock.monotonic();
  }

  /** Time until what was charged so far is within the rate, in milliseconds; 0 if it is. */
  get waitMs(): number {
    const ahead = this.#theoreticalArrivalMs - this.#clock.monotonic();
    return Math.max(0, ahead - this.#burst * this.#intervalMs);
  }

  /**
   * Resolves when `count` units are within the rate.
   *
   * @param source of the signal that resolves the call at once when it aborts; units still waiting are given back. Asked only if
   *   the call has to wait
   */
  async acquire(count = 1, source?: SignalSource): Promise<void> {
    const waitMs = this.charge(count);
    if (waitMs <= 0) return;
    const signal = typeof source === "function" ? source() : source;
    try {
      await this.#clock.sleep(waitMs, signal);
    } catch (error) {
      if (!signal?.aborted) throw error;
      this.#theoreticalArrivalMs -= count * this.#intervalMs;
    }
  }

  /**
   * Admits `count` units at once; later ones wait for them. Returns the time above the rate in milliseconds, if
   * positive.
   */
  charge(count: number): number {
    const now = this.#clock.monotonic();
    this.#theoreticalArrivalMs = Math.max(this.#theoreticalArrivalMs, now) + count * this.#intervalMs;
    return this.#theoreticalArrivalMs - now - this.#burst * this.#intervalMs;
  }

  get #intervalMs(): number {
    return 1000 / this.#perSecond;
  }
}
