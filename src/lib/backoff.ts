/** Bounds of an exponential backoff, in milliseconds. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
}

/**
 * Returns the delay before a retry in milliseconds: full jitter, between 0 and the exponential bound, so that the
 * devices of a fleet do not reconnect at the same time. Source: "Exponential Backoff And Jitter", AWS Architecture
 * Blog, 2015.
 *
 * @param attempt number of the retry, from 0
 * @param random a number in [0, 1)
 */
export function fullJitter(attempt: number, options: BackoffOptions, random: number): number {
  const bound = Math.min(options.maxMs, options.baseMs * 2 ** Math.min(attempt, 30));
  return Math.floor(random * bound);
}
