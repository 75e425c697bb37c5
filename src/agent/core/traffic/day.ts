/** An earlier time means that the clock was never set: this program is newer. */
const MIN_CLOCK_MS = Date.UTC(2026, 0, 1);

const DAY_MS = 86_400_000;

/** A UTC day, as `YYYY-MM-DD`. */
export type Day = string;

/** Whether the time of day is plausible. A device without a hardware clock starts in 1970 or at its last shutdown. */
export function isClockSet(nowMs: number): boolean {
  return nowMs >= MIN_CLOCK_MS;
}

/** Returns the current day; `undefined` if the clock was not set. */
export function dayOf(nowMs: number): Day | undefined {
  return isClockSet(nowMs) ? new Date(nowMs).toISOString().slice(0, 10) : undefined;
}

/** Returns the day `days` days earlier. */
export function daysBefore(day: Day, days: number): Day {
  return new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, 10);
}

/** Returns the first day of the day's month. */
export function monthOf(day: Day): Day {
  return `${day.slice(0, 8)}01`;
}

/** Returns when the next UTC day begins. */
export function nextDayMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
}

/** Returns when the next UTC month begins. */
export function nextMonthMs(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
}
