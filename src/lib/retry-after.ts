const SECONDS = /^\d{1,9}$/;

/**
 * Parses a `Retry-After` header (RFC 9110, section 10.2.3): seconds, or a date. Returns milliseconds from now, never
 * negative; `undefined` if it is invalid.
 *
 * @param dateHeader the response's `Date` header: a date is relative to the sender's clock; that of a device may be years
 * off
 * @param nowMs this machine's time of day, used without a `Date` header
 */
export function parseRetryAfter(
  value: string | undefined,
  dateHeader: string | undefined,
  nowMs: number,
): number | undefined {
  const text = value?.trim();
  if (!text) return undefined;
  if (SECONDS.test(text)) return Number(text) * 1000;
  // Date.parse accepts "-5" and "1.5" as dates; an HTTP date begins with the name of a day.
  if (!/^[A-Za-z]/.test(text)) return undefined;
  const at = Date.parse(text);
  if (Number.isNaN(at)) return undefined;
  const sent = dateHeader === undefined ? Number.NaN : Date.parse(dateHeader);
  return Math.max(0, at - (Number.isNaN(sent) ? nowMs : sent));
}
