import type { Clock } from "./clock.ts";

/**
 * Wraps a question whose answer rarely changes and costs something to ask: an answer serves for `ms` milliseconds, an
 * error is never kept.
 */
export function memoize<T>(
  clock: Clock,
  ms: number,
  ask: (signal: AbortSignal) => Promise<T>,
): (signal: AbortSignal) => Promise<T> {
  let answer: { readonly value: T; readonly until: number } | undefined;
  return async (signal) => {
    if (answer && clock.monotonic() < answer.until) return answer.value;
    answer = undefined;
    const value = await ask(signal);
    answer = { value, until: clock.monotonic() + ms };
    return value;
  };
}
