import type { Clock } from "./clock.ts";

/** Runs a task again and again until disposed, with a pause before each run. A run that has begun is not interrupted. */
export class Repeat implements Disposable {
  readonly #clock: Pick<Clock, "timer">;
  readonly #pauseMs: number;
  readonly #run: () => Promise<unknown>;
  #timer: Disposable | undefined;
  #isDisposed = false;

  /**
   * @param pauseMs time from the creation, and from the end of each run, to the next run, in milliseconds
   * @param run must not reject
   */
  constructor(clock: Pick<Clock, "timer">, pauseMs: number, run: () => Promise<unknown>) {
    this.#clock = clock;
    this.#pauseMs = pauseMs;
    this.#run = run;
    this.#schedule();
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #schedule(): void {
    if (this.#isDisposed) return;
    this.#timer = this.#clock.timer(this.#pauseMs, () => void this.#run().finally(() => this.#schedule()));
  }
}
