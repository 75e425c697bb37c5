const DAY_MINUTES = 24 * 60;
const MINUTE_MS = 60_000;

/**
 * A time window of the day, in minutes since midnight; `to` is exclusive, and less than `from` if the window spans
 * midnight.
 */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

/**
 * Parses a window such as `22:00-05:00`; `24:00` is the end of a day. Returns `undefined` if it is invalid or empty.
 */
export function parseTimeWindow(text: string): TimeWindow | undefined {
  const match = /^(\d{2}):(\d{2})-(\d{2}):(\d{2})$/.exec(text);
  if (!match) return undefined;
  const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = match.slice(1).map(Number);
  const [from, to] = [fromHour * 60 + fromMinute, toHour * 60 + toMinute];
  const isValid = fromMinute < 60 && toMinute < 60 && from < DAY_MINUTES && to <= DAY_MINUTES && from !== to;
  return isValid ? { from, to } : undefined;
}

/** Whether the minute is within one of the windows; always true without windows. */
export function isInWindows(windows: readonly TimeWindow[], minute: number): boolean {
  return (
    windows.length === 0 ||
    windows.some(({ from, to }) => (from < to ? minute >= from && minute < to : minute >= from || minute < to))
  );
}

/** Returns minutes since midnight in a time zone. Throws a `RangeError` if the time zone is unknown. */
export function minuteOfDay(ms: number, timeZone: string): number {
  if (timeZone === "UTC") return Math.floor(ms / MINUTE_MS) % DAY_MINUTES;
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const [hour = 0, minute = 0] = format.format(ms).split(":").map(Number);
  return hour * 60 + minute;
}

/** Returns the start of the next window, in Unix milliseconds; the time itself if it is within one. */
export function nextWindowStartMs(windows: readonly TimeWindow[], ms: number, timeZone: string): number {
  const minute = minuteOfDay(ms, timeZone);
  if (isInWindows(windows, minute)) return ms;
  const wait = Math.min(...windows.map(({ from }) => (from - minute + DAY_MINUTES) % DAY_MINUTES));
  const start = (Math.floor(ms / MINUTE_MS) + wait) * MINUTE_MS;
  if (minuteOfDay(start, timeZone) === (minute + wait) % DAY_MINUTES) return start;
  // Daylight saving time changes in between: check each minute of the next two days.
  for (let at = start - 2 * 60 * MINUTE_MS; at < start + 2 * DAY_MINUTES * MINUTE_MS; at += MINUTE_MS) {
    if (at > ms && isInWindows(windows, minuteOfDay(at, timeZone))) return at;
  }
  return start;
}
