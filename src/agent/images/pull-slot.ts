import type { Clock } from "../../lib/clock.ts";
import type { Semaphore } from "../../lib/semaphore.ts";

/** A download that receives nothing for this long gives up its slot, in milliseconds. */
export const STALLED_AFTER_MS = 20_000;

/**
 * One of the concurrent pulls, until disposed. While nothing arrives it is released: a registry that hangs must not
 * block other deployments.
 */
export class PullSlot implements Disposable {
  readonly #slots: Semaphore;
  readonly #clock: Clock;
  #permit: Disposable | undefined;
  #timer: Disposable | undefined;

  private constructor(slots: Semaphore, clock: Clock, permit: Disposable) {
    this.#slots = slots;
    this.#clock = clock;
    this.#permit = permit;
    this.#startStallTimer();
  }

  /** Waits for a slot. Rejects with the signal's reason when aborted. */
  static async acquire(slots: Semaphore, clock: Clock, signal: AbortSignal): Promise<PullSlot> {
    return new PullSlot(slots, clock, await slots.acquire(signal));
  }

  /** Must be called when bytes arrive. Takes a released slot again, beyond the limit if necessary. */
  renew(): void {
    this.#permit ??= this.#slots.forceAcquire();
    this.#startStallTimer();
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#release();
  }

  #startStallTimer(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#clock.timer(STALLED_AFTER_MS, () => this.#release());
  }

  #release(): void {
    this.#permit?.[Symbol.dispose]();
    this.#permit = undefined;
  }
}
