import type { Clock } from "../../../lib/clock.ts";

/** A request without an answer for this long is not answered: callers wait for ten seconds in all. */
const SLOW_MS = 5_000;
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 30_000;

/**
 * Notices an operator that does not answer, so that not every caller waits for it: after some requests in a row nothing is sent for 5
 * to 30 seconds. Then callers try again.
 */
export class OperatorOutage {
  readonly #clock: Pick<Clock, "monotonic">;
  readonly #maxUnanswered: number;
  #unanswered = 0;
  #pauseMs = 0;
  #untilMs = 0;

  /** @param maxUnanswered requests in a row without an answer after which no more are sent for a while */
  constructor(clock: Pick<Clock, "monotonic">, maxUnanswered: number) {
    this.#clock = clock;
    this.#maxUnanswered = maxUnanswered;
  }

  /** Whether no request is sent. */
  get isOn(): boolean {
    return this.#clock.monotonic() < this.#untilMs;
  }

  /** Sends a request. Resolves and rejects as it does. */
  async watch<T>(request: () => Promise<T>): Promise<T> {
    const beganMs = this.#clock.monotonic();
    try {
      const answer = await request();
      this.#unanswered = 0;
      this.#pauseMs = 0;
      this.#untilMs = 0;
      return answer;
    } catch (error) {
      // Also if the caller has given up meanwhile.
      if (this.#clock.monotonic() - beganMs >= SLOW_MS) this.#fail();
      throw error;
    }
  }

  #fail(): void {
    if (++this.#unanswered < this.#maxUnanswered || this.isOn) return;
    this.#pauseMs = Math.min(MAX_PAUSE_MS, this.#pauseMs === 0 ? FIRST_PAUSE_MS : this.#pauseMs * 2);
    this.#untilMs = this.#clock.monotonic() + this.#pauseMs;
  }
}
