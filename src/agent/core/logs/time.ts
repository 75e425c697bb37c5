const NANOSECONDS_PER_MS = 1_000_000n;
const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** Parses an RFC 3339 time in any zone to nanoseconds since the Unix epoch; `undefined` if it is invalid. */
export function nanoseconds(timestamp: string): bigint | undefined {
  const [, seconds, fraction = "", zone] = RFC3339.exec(timestamp) ?? [];
  if (seconds === undefined || zone === undefined) return undefined;
  const ms = Date.parse(`${seconds}${zone}`);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * NANOSECONDS_PER_MS + BigInt(fraction.padEnd(9, "0"));
}

/** Converts an RFC 3339 time to UTC, with the same fraction of a second. Returns other text unchanged. */
export function inUtc(timestamp: string): string {
  const [, seconds, fraction, zone] = RFC3339.exec(timestamp) ?? [];
  if (seconds === undefined || zone === undefined || zone === "Z") return timestamp;
  const ms = Date.parse(`${seconds}${zone}`);
  if (Number.isNaN(ms)) return timestamp;
  return `${new Date(ms).toISOString().slice(0, 19)}${fraction === undefined ? "" : `.${fraction}`}Z`;
}
