import type { Clock } from "../../../lib/clock.ts";

const FIRST_PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 15 * 60_000;

/**
 * The pauses that an operator asks for. Without a time of its own they grow from one second to 15 minutes, and begin anew after a
 * call that was taken.
 */
export class Pauses {
  readonly #clock: Clock;
  #untilMs = 0;
  #inARow = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long no call makes sense, in milliseconds; 0 if one does. */
  get remainingMs(): number {
    return Math.max(0, this.#untilMs - this.#clock.monotonic());
  }

  /** The operator wants no calls, for as long as it says. Returns the pause in milliseconds. */
  begin(retryAfterMs: number | undefined): number {
    // Calls that were under way when the pause began do not make it longer by themselves.
    if (retryAfterMs === undefined && this.remainingMs > 0) return this.remainingMs;
    const pauseMs = retryAfterMs ?? Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#inARow, 20));
    this.#inARow++;
    this.#untilMs = Math.max(this.#untilMs, this.#clock.monotonic() + pauseMs);
    return this.remainingMs;
  }

  /** A call was taken. */
  end(): void {
    this.#inARow = 0;
  }
}
