import type { Clock } from "../../lib/clock.ts";
import type { SimOperator } from "../sim-operator/sim-operator.ts";

const FIRST_PAUSE_MS = 60_000;
const MAX_PAUSE_MS = 15 * 60_000;

/** Operators that failed are left alone for a while: for a minute first, then for longer, at most a quarter of an hour. */
export class OperatorPauses {
  readonly #clock: Pick<Clock, "now">;
  readonly #paused = new WeakMap<SimOperator, { readonly untilMs: number; readonly failures: number }>();

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  /** Until when the operator is left alone, in Unix milliseconds; `undefined`: it may be asked. */
  pausedUntilMs(operator: SimOperator): number | undefined {
    const untilMs = this.#paused.get(operator)?.untilMs;
    return untilMs !== undefined && untilMs > this.#clock.now() ? untilMs : undefined;
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
    const known = this.#paused.get(operator);
    // Of calls at the same time the first one counts.
    if (known && known.untilMs > nowMs) return { untilMs: known.untilMs, isFirst: false };
    const failures = known?.failures ?? 0;
    const untilMs = Math.ceil(nowMs + (retryAfterMs ?? Math.min(FIRST_PAUSE_MS * 2 ** failures, MAX_PAUSE_MS)));
    this.#paused.set(operator, { untilMs, failures: failures + 1 });
    return { untilMs, isFirst: failures === 0 };
  }

  /** A call went well. */
  end(operator: SimOperator): void {
    this.#paused.delete(operator);
  }
}
