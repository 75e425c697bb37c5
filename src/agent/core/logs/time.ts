const NANOSECONDS_PER_MS = 1_000_000n;
const RFC3339 = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/;

/** Nanoseconds since the Unix epoch of a time as engines write it, RFC 3339 in any zone; `undefined` where it is none. */
export function nanoseconds(timestamp: string): bigint | undefined {
  const [, seconds, fraction = "", zone] = RFC3339.exec(timestamp) ?? [];
  if (seconds === undefined || zone === undefined) return undefined;
  const ms = Date.parse(`${seconds}${zone}`);
  return Number.isNaN(ms) ? undefined : BigInt(ms) * NANOSECONDS_PER_MS + BigInt(fraction.padEnd(9, "0"));
}

/** The same time in UTC, with as many digits of a second as it came with; as it is where it is none. */
export function inUtc(timestamp: string): string {
  const [, seconds, fraction, zone] = RFC3339.exec(timestamp) ?? [];
  if (seconds === undefined || zone === undefined || zone === "Z") return timestamp;
  const ms = Date.parse(`${seconds}${zone}`);
  if (Number.isNaN(ms)) return timestamp;
  return `${new Date(ms).toISOString().slice(0, 19)}${fraction === undefined ? "" : `.${fraction}`}Z`;
}
