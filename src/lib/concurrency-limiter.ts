import { EdgeError } from "../protocol/errors.ts";

/** Limits how many leases each holder has at the same time. */
export class ConcurrencyLimiter {
  readonly #limit: number;
  readonly #message: string;
  readonly #onRefused: (() => void) | undefined;
  readonly #counts = new Map<string, number>();

  /**
   * @param message of the error above the limit
   * @param onRefused called before that error is thrown
   */
  constructor(limit: number, message: string, onRefused?: () => void) {
    this.#onRefused = onRefused;
    this.#limit = limit;
    this.#message = message;
  }

  /** Acquires a lease, released on disposal. Throws `TooManyRequests` when the holder has reached the limit. */
  acquire(holder: string): Disposable {
    const count = this.#counts.get(holder) ?? 0;
    if (count >= this.#limit) {
      this.#onRefused?.();
      throw new EdgeError("TooManyRequests", this.#message, { limit: this.#limit });
    }
    this.#counts.set(holder, count + 1);
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
  }
}
