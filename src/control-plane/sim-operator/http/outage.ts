import type { Clock } from "../../../lib/clock.ts";

/** Requests in a row without an answer after which no more are sent for a while. */
const MAX_UNANSWERED = 3;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 30_000;

/**
 * Notices an operator that does not answer, so that not every caller waits for it: after three requests in a row nothing is sent for 5
 * to 30 seconds. Then callers try again.
 */
export class Outage {
  readonly #clock: Pick<Clock, "monotonic">;
  #unanswered = 0;
  #pauseMs = 0;
  #untilMs = 0;

  constructor(clock: Pick<Clock, "monotonic">) {
    this.#clock = clock;
  }

  /** Whether no request is sent. */
  get isOn(): boolean {
    return this.#clock.monotonic() < this.#untilMs;
  }

  /** A request was not answered in time. */
  fail(): void {
    if (++this.#unanswered < MAX_UNANSWERED || this.isOn) return;
    this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs === 0 ? FIRST_PAUSE_MS : this.#pauseMs * 2);
    this.#untilMs = this.#clock.monotonic() + this.#pauseMs;
  }

  /** The operator answered, whatever it said. */
  end(): void {
    this.#unanswered = 0;
    this.#pauseMs = 0;
    this.#untilMs = 0;
  }
}
