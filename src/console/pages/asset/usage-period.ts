/** Unix seconds, `from` inclusive, `to` exclusive. */
export interface UsageRange {
  readonly from: number;
  readonly to: number;
}

/** Periods that usage is shown for, in the order of the choice. They begin with days in UTC. */
export const PERIODS = {
  month: "This month",
  last_month: "Last month",
  "7d": "Last 7 days",
  "30d": "Last 30 days",
  "90d": "Last 90 days",
} as const;
export type Period = keyof typeof PERIODS;

const DAY_S = 86_400;
const DAYS: Readonly<Partial<Record<Period, number>>> = { "7d": 7, "30d": 30, "90d": 90 };

/** Reads the period of an address. */
export function readPeriod(text: string | null): Period {
  return text !== null && Object.hasOwn(PERIODS, text) ? (text as Period) : "month";
}

/** The range of a period. Periods of days contain today. */
export function rangeOf(period: Period, nowS: number): UsageRange {
  // In the first second of a month there must be a range, too.
  const to = Math.floor(nowS) + 1;
  const days = DAYS[period];
  if (days !== undefined) return { from: (Math.floor(nowS / DAY_S) - days + 1) * DAY_S, to };
  return period === "month"
    ? { from: monthStart(nowS, 0), to }
    : { from: monthStart(nowS, -1), to: monthStart(nowS, 0) };
}

/** Start of the UTC month so many months from the one that a time is in. */
export function monthStart(nowS: number, months: number): number {
  const now = new Date(nowS * 1000);
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + months, 1) / 1000;
}
