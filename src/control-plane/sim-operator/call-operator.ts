import { fullJitter } from "../../lib/backoff.ts";
import { type Clock, deadline } from "../../lib/clock.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { StoreUnavailableError } from "../store/unavailable.ts";
import { SimOperatorError } from "./sim-operator.ts";

const ATTEMPTS = 3;
const BACKOFF = { baseMs: 200, maxMs: 2_000 };
/** Longest time that a client waits for an operator. */
const CALL_TIMEOUT_MS = 10_000;

/**
 * Calls the operator with up to three attempts, while its errors are retryable, and for ten seconds in all. Safe because every
 * call is idempotent. Throws the last `SimOperatorError`, the reason of `signal` when it aborts, an `EdgeError` such as
 * `GranularityNotAvailable`, or the `StoreUnavailableError` of an operator that reads the store.
 *
 * @param timeoutMs of all attempts, in milliseconds
 */
export async function callOperator<T>(
  clock: Clock,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
  timeoutMs = CALL_TIMEOUT_MS,
): Promise<T> {
  using limit = deadline(clock, timeoutMs, signal);
  for (let attempt = 1; ; attempt++) {
    try {
      return await call(limit.signal);
    } catch (cause) {
      signal.throwIfAborted();
      if (limit.signal.aborted) throw lateAnswer(timeoutMs, cause);
      if (cause instanceof StoreUnavailableError || cause instanceof EdgeError) throw cause;
      const error = toOperatorError(cause);
      if (!error.retryable || attempt === ATTEMPTS) throw error;
      // Out of time: the last error says more than that.
      await clock.sleep(fullJitter(attempt, BACKOFF, Math.random()), limit.signal).catch(() => {
        signal.throwIfAborted();
        throw error;
      });
    }
  }
}

function lateAnswer(timeoutMs: number, cause: unknown): SimOperatorError {
  return new SimOperatorError(`no answer within ${timeoutMs / 1000} s`, true, { cause, failure: "unavailable" });
}

function toOperatorError(cause: unknown): SimOperatorError {
  if (cause instanceof SimOperatorError) return cause;
  return new SimOperatorError(cause instanceof Error ? cause.message : "unknown failure", false, { cause });
}
