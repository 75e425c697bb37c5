import type { Clock } from "./clock.ts";

/** A flag that one caller waits for. Stays set until a `wait` resets it, unlike Java's latch. */
export class Latch {
  #isSet = false;
  #resolve: (() => void) | undefined;

  /** Sets the latch. Usable as a callback. */
  readonly set = (): void => {
    this.#isSet = true;
    this.#resolve?.();
  };

  /** Resolves when the latch is set or after `ms` milliseconds, to whether it was set, and resets it. */
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
