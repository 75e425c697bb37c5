/** Unix seconds as `2026-11-20 12:00:00` in UTC. */
export function formatTime(unixSeconds: number): string {
  return isoTime(unixSeconds)?.slice(0, 19).replace("T", " ") ?? String(unixSeconds);
}

/** Unix seconds as `2026-11-20 12:00` in UTC. */
export function formatMinute(unixSeconds: number): string {
  return formatTime(unixSeconds).slice(0, 16);
}

/** Unix seconds as a day in UTC: `2026-11-20`. */
export function utcDay(unixSeconds: number): string {
  return formatTime(unixSeconds).slice(0, 10);
}

/** Unix seconds as the start of a period of the given granularity, in UTC. */
export function formatPeriod(unixSeconds: number, granularity: "hour" | "day" | "month"): string {
  if (granularity === "hour") return formatMinute(unixSeconds);
  const day = utcDay(unixSeconds);
  return granularity === "day" ? day : day.slice(0, 7);
}

/** A duration in seconds as `42 s`, `3 min 5 s` or `2 h 10 min`. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return joined(Math.floor(whole / 60), "min", whole % 60, "s");
  return joined(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
}

const UNIT_SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/**
 * Parses a point in time: Unix seconds, `2026-11-01`, `2026-11-01T12:00` (UTC without an offset), or a time ago: `90s`,
 * `10m`, `24h`, `7d`. Returns `undefined` for any other text.
 *
 * @param now milliseconds since the Unix epoch
 * @returns Unix seconds
 */
export function parseTime(text: string, now: number): number | undefined {
  if (/^\d{1,11}$/.test(text)) return Number(text);
  const ago = /^(\d{1,6})([smhd])$/.exec(text);
  if (ago) return Math.floor(now / 1000) - Number(ago[1]) * (UNIT_SECONDS[ago[2] ?? ""] ?? Number.NaN);
  const iso = /^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2}(?::\d{2})?)(Z|[+-]\d{2}:\d{2})?)?$/.exec(text);
  if (!iso) return undefined;
  const time = Date.parse(`${iso[1]}T${iso[2] ?? "00:00"}${iso[3] ?? "Z"}`);
  // Date.parse accepts 2026-02-30 as 2 March.
  const midnight = Date.parse(`${iso[1]}T00:00Z`);
  const isRealDay = utcDay(midnight / 1000) === iso[1];
  return Number.isNaN(time) || !isRealDay ? undefined : Math.floor(time / 1000);
}

function joined(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${largeUnit}` : `${large} ${largeUnit} ${small} ${smallUnit}`;
}

/** Returns `undefined` for a number outside the range of `Date`. */
function isoTime(unixSeconds: number): string | undefined {
  const date = new Date(unixSeconds * 1000);
  return Number.isNaN(date.getTime()) ? undefined : date.toISOString();
}
