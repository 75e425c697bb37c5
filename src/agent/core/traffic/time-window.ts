const DAY_MINUTES = 24 * 60;
const MINUTE_MS = 60_000;

/** Hours of the day, in minutes from midnight: from the first up to, and not including, the second; over midnight where that is less. */
export interface TimeWindow {
  readonly from: number;
  readonly to: number;
}

/** Reads hours written as `22:00-05:00`; `24:00` is the end of a day. `undefined` for anything else, and for no time at all. */
export function parseTimeWindow(text: string): TimeWindow | undefined {
  const match = /^(\d{2}):(\d{2})-(\d{2}):(\d{2})$/.exec(text);
  if (!match) return undefined;
  const [fromHour = 0, fromMinute = 0, toHour = 0, toMinute = 0] = match.slice(1).map(Number);
  const [from, to] = [fromHour * 60 + fromMinute, toHour * 60 + toMinute];
  const isValid = fromMinute < 60 && toMinute < 60 && from < DAY_MINUTES && to <= DAY_MINUTES && from !== to;
  return isValid ? { from, to } : undefined;
}

/** Whether the moment is within one of the hours; any moment is where there are none. */
export function isInWindows(hours: readonly TimeWindow[], minute: number): boolean {
  return (
    hours.length === 0 ||
    hours.some(({ from, to }) => (from < to ? minute >= from && minute < to : minute >= from || minute < to))
  );
}

/** Minutes from midnight on the clocks of a time zone. Throws `RangeError` for one that is not known. */
export function minuteOfDay(ms: number, timeZone: string): number {
  if (timeZone === "UTC") return Math.floor(ms / MINUTE_MS) % DAY_MINUTES;
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const [hour = 0, minute = 0] = format.format(ms).split(":").map(Number);
  return hour * 60 + minute;
}

/** When the hours begin next, in Unix milliseconds; the moment itself where it is within them. */
export function nextWithin(hours: readonly TimeWindow[], ms: number, timeZone: string): number {
  const minute = minuteOfDay(ms, timeZone);
  if (isInWindows(hours, minute)) return ms;
  const wait = Math.min(...hours.map(({ from }) => (from - minute + DAY_MINUTES) % DAY_MINUTES));
  const start = (Math.floor(ms / MINUTE_MS) + wait) * MINUTE_MS;
  if (isInWindows(hours, minuteOfDay(start, timeZone))) return start;
  // Clocks were changed in between: look at each minute, two days on at the most.
  for (let at = start - 2 * 60 * MINUTE_MS; at < start + 2 * DAY_MINUTES * MINUTE_MS; at += MINUTE_MS) {
    if (at > ms && isInWindows(hours, minuteOfDay(at, timeZone))) return at;
  }
  return start;
}
