import type { Clock } from "../../lib/clock.ts";

/** Lines of a stream after which it is watched: so many fill files of a log quickly. */
const MIN_LINES = 1000;
/** How long such a stream may be silent, in milliseconds. */
const MAX_SILENCE_MS = 10_000;

/**
 * Notices a followed stream that the engine has stopped filling. Docker that starts other files of a log faster than they are
 * read goes on to wait for lines in a file that gets no more, without an end or an error. An app that has written much and is
 * silent looks the same, so its stream is opened once more; one that writes little is left alone.
 */
export class StallWatch implements Disposable {
  readonly #clock: Clock;
  readonly #abort = new AbortController();
  #lines = 0;
  #timer: Disposable | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Aborts when the stream has stalled. */
  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  /** Must be called when so many new lines have arrived: their reader may take its time. */
  received(lines: number): void {
    this.#lines += lines;
    this[Symbol.dispose]();
  }

  /** Must be called before the next lines are waited for. */
  wait(): void {
    if (this.#lines < MIN_LINES) return;
    this.#timer ??= this.#clock.timer(MAX_SILENCE_MS, () => this.#abort.abort(new Error("the log has stalled")));
  }

  [Symbol.dispose](): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }
}
