/** A clock that shows less than this was never set: this program is younger. */
const MIN_CLOCK_MS = Date.UTC(2026, 0, 1);

const DAY_MS = 86_400_000;

/** A day of UTC, as `YYYY-MM-DD`. */
export type Day = string;

/** Whether the time of day can be believed. Without a clock of its own a device begins in 1970, or where it left off. */
export function isClockSet(nowMs: number): boolean {
  return nowMs >= MIN_CLOCK_MS;
}

/** The day it is; `undefined` while the clock was not set. */
export function dayOf(nowMs: number): Day | undefined {
  return isClockSet(nowMs) ? new Date(nowMs).toISOString().slice(0, 10) : undefined;
}

/** The day so many days before. */
export function daysBefore(day: Day, days: number): Day {
  return new Date(Date.parse(day) - days * DAY_MS).toISOString().slice(0, 10);
}

/** The first day of the day's month. */
export function monthOf(day: Day): Day {
  return `${day.slice(0, 8)}01`;
}

/** When the next day of UTC begins. */
export function nextDayMs(nowMs: number): number {
  return (Math.floor(nowMs / DAY_MS) + 1) * DAY_MS;
}

/** When the next month of UTC begins. */
export function nextMonthMs(nowMs: number): number {
  const now = new Date(nowMs);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1);
}
