const UNITS = ["kB", "MB", "GB", "TB", "PB"] as const;

/** Formats a size for people, in decimal units: `512 B`, `9.1 MB`, `91 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  let value = bytes / 1000;
  let index = 0;
  // The limit is where three digits would be rounded to four.
  while (value >= 999.5 && index < UNITS.length - 1) {
    value /= 1000;
    index += 1;
  }
  return `${value.toFixed(value < 9.95 ? 1 : 0)} ${UNITS[index]}`;
}
