import type { Clock } from "../../../lib/clock.ts";
import { deadline } from "../../../lib/clock.ts";
import { EngineError } from "../engine-error.ts";
import { toEngineError } from "./to-engine-error.ts";

/**
 * Runs one call to the engine with a timeout of `ms` milliseconds. After the timeout or an abort the call is not waited
 * for, because the client does not notice every broken connection. Rejects with the signal's reason if the caller
 * aborted, otherwise with an `EngineError`.
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
