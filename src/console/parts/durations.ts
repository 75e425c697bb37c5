const MINUTE_S = 60;
const HOUR_S = 60 * MINUTE_S;
const DAY_S = 24 * HOUR_S;

const UNITS = [
  [DAY_S, "d"],
  [HOUR_S, "h"],
  [MINUTE_S, "min"],
] as const;

/** Formats a number of seconds for people, with one unit: `40 s`, `3 min`, `5 h`, `12 d`. Parts of a unit are left out. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const [size, unit] = UNITS.find(([size]) => whole >= size) ?? [1, "s"];
  return `${Math.floor(whole / size)} ${unit}`;
}

/** As `formatDuration`, rounded: what was set to end in 90 days ends in `90 d` also a minute later. */
export function formatRoundedDuration(seconds: number): string {
  const [size] = UNITS.find(([size]) => seconds >= size) ?? [1];
  return formatDuration(seconds + size / 2);
}

/** How long ago something was, or how long until it is, to the precision to which the service's clock is known. */
export function formatAge(unixSeconds: number, nowMs: number): string {
  const seconds = nowMs / 1000 - unixSeconds;
  return seconds > -MAX_CLOCK_ERROR_S ? `${formatDuration(seconds)} ago` : `in ${formatRoundedDuration(-seconds)}`;
}

const MAX_CLOCK_ERROR_S = 3;

// Making a formatter takes longer than all else in a row of a list.
const TIME = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  timeZoneName: "short",
});
const UTC_TIME = new Intl.DateTimeFormat("en-GB", {
  day: "numeric",
  month: "short",
  year: "numeric",
  hour: "2-digit",
  minute: "2-digit",
  timeZone: "UTC",
  timeZoneName: "short",
});
const DATE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });

/** Formats Unix seconds as date and time of this machine's zone, with the zone's name. */
export function formatTime(unixSeconds: number): string {
  return TIME.format(unixSeconds * 1000);
}

/** Formats Unix seconds as a date of this machine's zone. */
export function formatDate(unixSeconds: number): string {
  return DATE.format(unixSeconds * 1000);
}

/** Formats Unix seconds as date and time in UTC, for what begins and ends with days in UTC: `1 Dec 2026, 00:00 UTC`. */
export function formatUtcTime(unixSeconds: number): string {
  return UTC_TIME.format(unixSeconds * 1000);
}
