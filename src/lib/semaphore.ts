/** A counting semaphore, granted in order of arrival. */
export class Semaphore {
  readonly #waiting: (() => void)[] = [];
  #available: number;

  constructor(limit: number) {
    this.#available = limit;
  }

  /** Whether `acquire` would have to wait. */
  get isFull(): boolean {
    return this.#available <= 0;
  }

  /** Resolves to a lease, released on disposal. Rejects with the signal's reason when aborted while waiting. */
  async acquire(signal?: AbortSignal): Promise<Disposable> {
    signal?.throwIfAborted();
    if (this.#available > 0) this.#available--;
    else await this.#wait(signal);
    return this.#createLease();
  }

  /** Acquires a lease at once, even above the limit. Others wait until the number is below the limit again. */
  forceAcquire(): Disposable {
    this.#available--;
    return this.#createLease();
  }

  #createLease(): Disposable {
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#release();
        isHeld = false;
      },
    };
  }

  #wait(signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const enter = (): void => {
        signal?.removeEventListener("abort", leave);
        resolve();
      };
      const leave = (): void => {
        this.#waiting.splice(this.#waiting.indexOf(enter), 1);
        reject(signal?.reason);
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(enter);
    });
  }

  #release(): void {
    // Above the limit after `forceAcquire`: the released lease is not passed on.
    const next = this.#available < 0 ? undefined : this.#waiting.shift();
    if (next) next();
    else this.#available++;
  }
}
