import type { Clock } from "../../lib/clock.ts";

/** The service sends at least an empty line every 15 s. After three missed lines the connection counts as dead. */
export const MAX_SILENCE_MS = 45_000;

/** Aborts a request when the parent signal aborts, when disposed, and when nothing arrives for `MAX_SILENCE_MS`. */
export class IdleTimeout implements Disposable {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly signal: AbortSignal;
  #watchdog: Disposable | undefined;

  constructor(clock: Clock, parent: AbortSignal) {
    this.#clock = clock;
    this.signal = AbortSignal.any([parent, this.#controller.signal]);
  }

  /** Restarts the timeout. Must be called when data arrives, and once at the start. */
  touch(): void {
    this.#watchdog?.[Symbol.dispose]();
    this.#watchdog = this.#clock.timer(MAX_SILENCE_MS, () => {
      this.#controller.abort(new DOMException("nothing arrived in time", "TimeoutError"));
    });
  }

  [Symbol.dispose](): void {
    this.#watchdog?.[Symbol.dispose]();
    this.#controller.abort();
  }
}
