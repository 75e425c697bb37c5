import type { QuietHours } from "../../../protocol/alerts/settings.ts";

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
/** A change of the clocks moves the end by this at most. */
const MAX_CHANGE_MINUTES = 180;
const MAX_LOOKS = 4;

/** Returns until when it is quiet, in Unix milliseconds; `undefined` if it is not. */
export function quietUntilMs({ from, to, time_zone: timeZone }: QuietHours, atMs: number): number | undefined {
  const format = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" });
  const [begin, end] = [minutesOf(from), minutesOf(to)];
  const minuteAt = (ms: number): number => minutesOf(format.format(ms));
  const isQuiet = (minute: number): boolean =>
    begin < end ? minute >= begin && minute < end : minute >= begin || minute < end;
  let endMs = atMs;
  for (let look = 0; look < MAX_LOOKS && isQuiet(minuteAt(endMs)); look++) {
    const left = (end - minuteAt(endMs) + DAY_MINUTES) % DAY_MINUTES;
    endMs = Math.floor(endMs / MINUTE_MS) * MINUTE_MS + left * MINUTE_MS;
  }
  if (endMs === atMs) return undefined;
  // The clocks have gone forward meanwhile.
  const late = (minuteAt(endMs) - end + DAY_MINUTES) % DAY_MINUTES;
  const correctedMs = endMs - late * MINUTE_MS;
  return late <= MAX_CHANGE_MINUTES && !isQuiet(minuteAt(correctedMs)) ? correctedMs : endMs;
}

function minutesOf(time: string): number {
  const [hour = "", minute = ""] = time.split(":");
  return Number(hour) * 60 + Number(minute);
}
