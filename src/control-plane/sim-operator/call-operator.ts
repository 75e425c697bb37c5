import { fullJitter } from "../../lib/backoff.ts";
import { type Clock, deadline } from "../../lib/clock.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { StoreUnavailableError } from "../store/unavailable.ts";
import { SimOperatorError } from "./sim-operator.ts";

const ATTEMPTS = 3;
const BACKOFF = { baseMs: 200, maxMs: 2_000 };
const CALL_TIMEOUT_MS = 10_000;

/**
 * Calls the operator with up to three attempts of ten seconds each, while its errors are retryable. Safe because every
 * call is idempotent. Throws the last `SimOperatorError`, the reason of `signal` when it aborts, an `EdgeError` such as
 * `GranularityNotAvailable`, or the `StoreUnavailableError` of an operator that reads the store.
 */
export async function callOperator<T>(
  clock: Clock,
  signal: AbortSignal,
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      using limit = deadline(clock, CALL_TIMEOUT_MS, signal);
      return await call(limit.signal);
    } catch (cause) {
      signal.throwIfAborted();
      if (cause instanceof StoreUnavailableError || cause instanceof EdgeError) throw cause;
      const error = toOperatorError(cause);
      if (!error.retryable || attempt === ATTEMPTS) throw error;
      await clock.sleep(fullJitter(attempt, BACKOFF, Math.random()), signal);
    }
  }
}

function toOperatorError(cause: unknown): SimOperatorError {
  if (cause instanceof SimOperatorError) return cause;
  const timedOut = cause instanceof DOMException && cause.name === "TimeoutError";
  return new SimOperatorError(cause instanceof Error ? cause.message : "unknown failure", timedOut, { cause });
}
