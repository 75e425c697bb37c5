import type { Clock } from "../../lib/clock.ts";
import type { Semaphore } from "../../lib/semaphore.ts";

/** A download that brings nothing for so long does not keep others waiting, in milliseconds. */
export const STALLED_AFTER_MS = 20_000;

/**
 * A place among the downloads that may go on at the same time, until disposed. While nothing comes it is left to the
 * next one: a registry that hangs must not hold up deployments that have nothing to do with it.
 */
export class PullSlot implements Disposable {
  readonly #pulls: Semaphore;
  readonly #clock: Clock;
  #permit: Disposable | undefined;
  #timer: Disposable | undefined;

  private constructor(pulls: Semaphore, clock: Clock, place: Disposable) {
    this.#pulls = pulls;
    this.#clock = clock;
    this.#permit = place;
    this.#watch();
  }

  /** Waits for a place. Rejects with the signal's reason when aborted. */
  static async acquire(pulls: Semaphore, clock: Clock, signal: AbortSignal): Promise<PullSlot> {
    return new PullSlot(pulls, clock, await pulls.acquire(signal));
  }

  /** Something came: the place is this download's again, if need be beside all others. */
  renew(): void {
    this.#permit ??= this.#pulls.forceAcquire();
    this.#watch();
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#release();
  }

  #watch(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#clock.timer(STALLED_AFTER_MS, () => this.#release());
  }

  #release(): void {
    this.#permit?.[Symbol.dispose]();
    this.#permit = undefined;
  }
}
