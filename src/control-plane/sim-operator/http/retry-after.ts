/** Longest pause that is taken from an operator: a day. A wrong header must not stop the service for longer. */
const MAX_MS = 24 * 3_600_000;

/**
 * Returns the pause that a `Retry-After` header asks for, in milliseconds; `undefined` without one that makes sense. Source: RFC
 * 9110, section 10.2.3: seconds, or a date.
 */
export function parseRetryAfter(header: string | null, nowMs: number): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  if (/^\d{1,9}$/.test(text)) return Math.min(Number(text) * 1000, MAX_MS);
  const atMs = Date.parse(text);
  return Number.isNaN(atMs) ? undefined : Math.min(Math.max(0, atMs - nowMs), MAX_MS);
}
