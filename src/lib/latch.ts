import type { Clock } from "./clock.ts";

/** Remembers that it was set until somebody has waited for it. */
export class Latch {
  #isSet = false;
  #resolve: (() => void) | undefined;

  /** Usable as a callback. */
  readonly set = (): void => {
    this.#isSet = true;
    this.#resolve?.();
  };

  /** Resolves once it is set, or after `ms` milliseconds; answers whether it was set, and resets it. */
  async wait(clock: Clock, ms: number): Promise<boolean> {
    if (!this.#isSet) {
      await new Promise<void>((resolve) => {
        const timer = clock.timer(ms, resolve);
        this.#resolve = () => {
          timer[Symbol.dispose]();
          resolve();
        };
      });
      this.#resolve = undefined;
    }
    const wasSet = this.#isSet;
    this.#isSet = false;
    return wasSet;
  }
}
