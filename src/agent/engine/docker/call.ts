import type { Clock } from "../../../lib/clock.ts";
import { deadline } from "../../../lib/clock.ts";
import { EngineError } from "../engine-error.ts";
import { toEngineError } from "./to-engine-error.ts";

/**
 * Runs one call to the engine within `ms` milliseconds. The call is given a signal that ends it; it is not waited for
 * after that, because the client does not notice every way in which a connection can die. Rejects with the caller's
 * reason when the caller aborted, with an `EngineError` otherwise.
 */
export async function call<T>(
  clock: Clock,
  ms: number,
  signal: AbortSignal,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  signal.throwIfAborted();
  using limit = deadline(clock, ms, signal);
  try {
    return await settleOrAbort(run(limit.signal), limit.signal);
  } catch (error) {
    signal.throwIfAborted();
    if (limit.signal.aborted) {
      throw new EngineError("timeout", `the container engine did not answer within ${ms} ms`, { cause: error });
    }
    throw toEngineError(error);
  }
}

/** Like `promise`, but rejects as soon as the signal aborts. */
export async function settleOrAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => reject(signal.reason);
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
