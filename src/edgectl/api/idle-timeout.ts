import type { Clock } from "../../lib/clock.ts";

/** The service sends at least an empty line every 15 s; three missed ones mean that the link is dead. */
export const MAX_SILENCE_MS = 45_000;

/** Aborts a request when its caller does, when it is disposed of, and when nothing has come for too long. */
export class IdleTimeout implements Disposable {
  readonly #controller = new AbortController();
  readonly #clock: Clock;
  readonly signal: AbortSignal;
  #watchdog: Disposable | undefined;

  constructor(clock: Clock, parent: AbortSignal) {
    this.#clock = clock;
    this.signal = AbortSignal.any([parent, this.#controller.signal]);
  }

  /** Something came. */
  touch(): void {
    this.#watchdog?.[Symbol.dispose]();
    this.#watchdog = this.#clock.timer(MAX_SILENCE_MS, () => {
      this.#controller.abort(new DOMException("nothing came for too long", "TimeoutError"));
    });
  }

  [Symbol.dispose](): void {
    this.#watchdog?.[Symbol.dispose]();
    this.#controller.abort();
  }
}
