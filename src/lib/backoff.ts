/** Bounds of an exponential backoff, in milliseconds. */
export interface BackoffOptions {
  readonly baseMs: number;
  readonly maxMs: number;
}

/**
 * Delay before attempt number `attempt` (0 for the first retry): full jitter, anywhere between nothing and the
 * exponential bound, so that a fleet that lost its control plane does not come back in step.
 * Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
 *
 * @param random a number in [0, 1)
 */
export function fullJitter(attempt: number, options: BackoffOptions, random: number): number {
  const bound = Math.min(options.maxMs, options.baseMs * 2 ** Math.min(attempt, 30));
  return Math.floor(random * bound);
}
