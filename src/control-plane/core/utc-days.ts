import { invalidRequest } from "../../protocol/errors/request-error.ts";
import { MAX_USAGE_DAYS } from "../../protocol/assets/usage.ts";
import type { TimeRange } from "./usage-period.ts";

const DAY_S = 24 * 3600;

/** UTC days as `YYYY-MM-DD`, both included. */
export interface DayRange {
  readonly from: string;
  readonly to: string;
}

/** Returns the UTC day that contains the time. @param seconds Unix seconds */
export function utcDay(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

/**
 * Returns the days of a query, by default from the first of the current month until today. Throws `InvalidRequest` for a
 * day that does not exist, a reversed range, or one of more than 400 days.
 */
export function resolveDays(
  query: { readonly from?: string | undefined; readonly to?: string | undefined },
  nowMs: number,
) {
  const today = utcDay(nowMs / 1000);
  const to = query.to ?? today;
  const from = query.from ?? `${(to < today ? to : today).slice(0, 7)}-01`;
  const range = secondsOf({ from: checkDay("from", from), to: checkDay("to", to) });
  if (range.start >= range.end) throw invalidRequest([{ path: "from", reason: "must not be after to" }]);
  if (range.end - range.start > MAX_USAGE_DAYS * DAY_S) {
    throw invalidRequest([{ path: "from", reason: `must be at most ${MAX_USAGE_DAYS} days before to` }]);
  }
  return { days: { from, to }, range };
}

function secondsOf({ from, to }: DayRange): TimeRange {
  return { start: Date.parse(from) / 1000, end: Date.parse(to) / 1000 + DAY_S };
}

function checkDay(path: string, day: string): string {
  const ms = Date.parse(`${day}T00:00:00Z`);
  // `Date.parse` reads 30 February as 2 March.
  if (Number.isNaN(ms) || utcDay(ms / 1000) !== day) throw invalidRequest([{ path, reason: "is not a valid date" }]);
  return day;
}
