import { EdgeError } from "../protocol/errors.ts";

/** Lets each holder have at most so many of something at once. */
export class ConcurrencyLimiter {
  readonly #limit: number;
  readonly #message: string;
  readonly #taken = new Map<string, number>();

  /** @param message what one who wants more is told */
  constructor(limit: number, message: string) {
    this.#limit = limit;
    this.#message = message;
  }

  /** Error: `TooManyRequests`. */
  acquire(holder: string): Disposable {
    const count = this.#taken.get(holder) ?? 0;
    if (count >= this.#limit) throw new EdgeError("TooManyRequests", this.#message, { limit: this.#limit });
    this.#taken.set(holder, count + 1);
    let held = true;
    return {
      [Symbol.dispose]: () => {
        if (held) this.#release(holder);
        held = false;
      },
    };
  }

  #release(holder: string): void {
    const left = (this.#taken.get(holder) ?? 1) - 1;
    if (left > 0) this.#taken.set(holder, left);
    else this.#taken.delete(holder);
  }
}
