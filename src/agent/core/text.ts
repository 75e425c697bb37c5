/* Texts for the device's messages to people. Sizes are in decimal units, as data plans are counted. */

/** Formats whole megabytes, rounded down, without the unit: for free space, which must not look larger than it is. */
export function formatWholeMegabytes(bytes: number): string {
  return String(Math.floor(bytes / 1_000_000));
}

/** Formats a size for people: `9.1 kB`, `9.1 MB`, `910 MB`. */
export function formatSize(bytes: number): string {
  if (bytes < 100_000) return `${(bytes / 1000).toFixed(1)} kB`;
  const megabytes = bytes / 1_000_000;
  return `${megabytes.toFixed(megabytes < 100 ? 1 : 0)} MB`;
}

/** Formats a part of a size, in the unit of the whole: `3.1 of 91.0 MB`, `9.1 of 29.9 kB`. */
export function formatPart(bytes: number, whole: number): string {
  const [unit, name] = whole < 100_000 ? [1_000, "kB"] : [1_000_000, "MB"];
  return `${(bytes / unit).toFixed(1)} of ${(whole / unit).toFixed(1)} ${name}`;
}

/** Formats a transfer rate: `120 kB/s`, `1.2 MB/s`. */
export function formatRate(bytesPerSecond: number): string {
  if (bytesPerSecond < 999_500) return `${Math.round(bytesPerSecond / 1000)} kB/s`;
  return `${(bytesPerSecond / 1_000_000).toFixed(1)} MB/s`;
}

/** Formats an estimate of the time left, in seconds: `80 s`, `12 min`, `2.5 h`. */
export function formatTimeLeft(seconds: number): string {
  if (seconds < 90) return `${seconds} s`;
  if (seconds < 5_400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3_600).toFixed(1)} h`;
}

/** Formats a configured duration, which a person knows in seconds up to two minutes: `90 s`, `30 min`. */
export function formatConfiguredDuration(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
}

/** Formats a number of occurrences: `once`, `3 times`. */
export function formatTimes(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

/** Formats a time in UTC to the minute: `2026-11-20 12:00`. Throws a `RangeError` for an invalid time. */
export function formatUtcMinute(ms: number): string {
  return new Date(ms).toISOString().slice(0, 16).replace("T", " ");
}

/** Returns the text with its first letter in upper case. */
export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Escape sequence for colour or weight. All other escape sequences are replaced. */
const COLOUR = "\\u001b\\[[\\d;]*m";
const CONTROL = new RegExp(`(${COLOUR})|[\\p{Cc}\\u2028\\u2029]`, "gu");

/**
 * Makes a line of output safe to show on a terminal: replaces control characters other than tabs by U+FFFD, and keeps
 * colours.
 */
export function printable(text: string): string {
  return text.replaceAll(CONTROL, (found, colour: string | undefined) =>
    (colour ?? found === "\t") ? found : "\u{fffd}",
  );
}
