import { EdgeError } from "../protocol/errors/errors.ts";

/** The same count at other places that the limit is for. */
export interface SharedCount {
  /** How many leases the holder has at all other places. */
  others(holder: string): number;
  /** Tells the other places how many the holder has here, for a time or, by default, until it is said again. */
  set(holder: string, count: number, forMs?: number): void;
}

/** Limits how many leases each holder has at the same time. */
export class ConcurrencyLimiter {
  readonly #limit: number;
  readonly #message: string;
  readonly #shared: SharedCount | undefined;
  readonly #onRefused: (() => void) | undefined;
  readonly #counts = new Map<string, number>();

  /**
   * @param message of the error above the limit
   * @param onRefused called before that error is thrown
   */
  constructor(limit: number, message: string, shared?: SharedCount, onRefused?: () => void) {
    this.#onRefused = onRefused;
    this.#limit = limit;
    this.#message = message;
    this.#shared = shared;
  }

  /** Acquires a lease, released on disposal. Throws `TooManyRequests` when the holder has reached the limit. */
  acquire(holder: string): Disposable {
    const count = this.#counts.get(holder) ?? 0;
    if (count + (this.#shared?.others(holder) ?? 0) >= this.#limit) {
      this.#onRefused?.();
      throw new EdgeError("TooManyRequests", this.#message, { limit: this.#limit });
    }
    this.#counts.set(holder, count + 1);
    this.#shared?.set(holder, count + 1);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#release(holder);
        isHeld = false;
      },
    };
  }

  #release(holder: string): void {
    const remaining = (this.#counts.get(holder) ?? 1) - 1;
    if (remaining > 0) this.#counts.set(holder, remaining);
    else this.#counts.delete(holder);
    this.#shared?.set(holder, remaining);
  }
}
