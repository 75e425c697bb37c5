import type { Clock } from "./clock.ts";

/** Caches the result of an expensive function for `ms` milliseconds. Errors are not cached. */
export function memoize<T>(
  clock: Clock,
  ms: number,
  compute: (signal: AbortSignal) => Promise<T>,
): (signal: AbortSignal) => Promise<T> {
  let cached: { readonly value: T; readonly until: number } | undefined;
  return async (signal) => {
    if (cached && clock.monotonic() < cached.until) return cached.value;
    cached = undefined;
    const value = await compute(signal);
    cached = { value, until: clock.monotonic() + ms };
    return value;
  };
}
