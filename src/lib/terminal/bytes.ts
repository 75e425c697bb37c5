const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/**
 * Formats bytes in decimal units, as data plans count them: `1.50 MB`, `15.0 MB`. At least three significant digits.
 */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // Compared after rounding: 999.95 is shown as 1000.0, which belongs in the next unit.
  while (unit < UNITS.length - 1 && Number(value.toFixed(1)) >= 1000) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)} ${UNITS[unit]}`;
}

/** `formatBytes`, or `-` for an unknown number. */
export function formatBytesOrDash(bytes: number | null | undefined): string {
  return bytes == null ? "-" : formatBytes(bytes);
}
