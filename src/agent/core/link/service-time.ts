/** What the control plane has said of the time. Milliseconds. */
export interface ServiceTime {
  /** Since the Unix epoch, when it was sent. */
  readonly timeMs: number;
  /** When it arrived, by a clock that does not jump. */
  readonly arrivedAtMs: number;
  /** Longest time that it was on its way. */
  readonly delayMs: number;
}

/** A difference that makes a clock wrong, and one with which it is right again. */
const WRONG_MS = 60_000;
const RIGHT_MS = 30_000;

/**
 * Whether a time of day differs from the control plane's by more than the link explains.
 *
 * @param nowMs by the clock of `arrivedAtMs`
 * @param wasWrong whether it was wrong at the look before
 */
export function isClockWrong(
  { timeMs, arrivedAtMs, delayMs }: ServiceTime,
  timeOfDayMs: number,
  nowMs: number,
  wasWrong: boolean,
): boolean {
  const difference = timeOfDayMs - (timeMs + nowMs - arrivedAtMs);
  // It was sent up to `delayMs` before it arrived: the control plane may be ahead of what it said by that.
  const unexplained = difference > 0 ? Math.max(0, difference - delayMs) : -difference;
  return unexplained > (wasWrong ? RIGHT_MS : WRONG_MS);
}
