const UNITS = ["B", "kB", "MB", "GB", "TB", "PB"];

/** A number of bytes in decimal units, as data plans are counted: `1.5 MB`. Three significant digits at least. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // 999.95 would be shown as 1000.0: go on to the next unit by what is shown.
  while (unit < UNITS.length - 1 && Number(value.toFixed(1)) >= 1000) {
    value /= 1000;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(value < 10 ? 2 : 1)} ${UNITS[unit]}`;
}
