import type { Clock } from "../../lib/clock.ts";
import type { SimOperator } from "../sim-operator/sim-operator.ts";

const FIRST_PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 15 * 60_000;

/** Operators that failed are left alone for a while: for a minute first, then for longer, at most a quarter of an hour. */
export class OperatorPauses {
  readonly #clock: Pick<Clock, "now" | "monotonic">;
  /** Ends of pauses are in monotonic milliseconds. */
  readonly #paused = new WeakMap<SimOperator, { readonly until: number; readonly failures: number }>();

  constructor(clock: Pick<Clock, "now" | "monotonic">) {
    this.#clock = clock;
  }

  /** Until when the operator is left alone, in Unix milliseconds; `undefined`: it may be asked. */
  pausedUntilMs(operator: SimOperator): number | undefined {
    const leftMs = (this.#paused.get(operator)?.until ?? -Infinity) - this.#clock.monotonic();
    return leftMs > 0 ? Math.ceil(this.#clock.now() + leftMs) : undefined;
  }

  /**
   * A call failed. Returns when to try again, and whether the calls before it went well.
   *
   * @param isOfAll whether other SIMs are left alone as well
   */
  begin(
    operator: SimOperator,
    retryAfterMs: number | undefined,
    isOfAll: boolean,
  ): { readonly untilMs: number; readonly isFirst: boolean } {
    const nowMs = this.#clock.now();
    if (!isOfAll) return { untilMs: nowMs + MAX_PAUSE_MS, isFirst: true };
    // Of calls at the same time the first one counts.
    const pausedUntilMs = this.pausedUntilMs(operator);
    if (pausedUntilMs !== undefined) return { untilMs: pausedUntilMs, isFirst: false };
    const failures = this.#paused.get(operator)?.failures ?? 0;
    const pauseMs = retryAfterMs ?? Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS);
    this.#paused.set(operator, { until: this.#clock.monotonic() + pauseMs, failures: failures + 1 });
    return { untilMs: Math.ceil(nowMs + pauseMs), isFirst: failures === 0 };
  }

  /** A call went well. */
  end(operator: SimOperator): void {
    this.#paused.delete(operator);
  }
}
