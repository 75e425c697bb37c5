/** By how much the clocks of two instances, or of the service and a command, may differ, in seconds. */
const MAX_CLOCK_DIFFERENCE_S = 300;

/**
 * Whether something that was made for a limited time is valid now. What was made later than now comes from a clock that was ahead: its
 * end is wrong by as much. Times are Unix seconds.
 */
export function isWithinLifetime(
  { createdAt, expiresAt }: { readonly createdAt: number; readonly expiresAt: number },
  now: number,
): boolean {
  return now < expiresAt && createdAt <= now + MAX_CLOCK_DIFFERENCE_S;
}
