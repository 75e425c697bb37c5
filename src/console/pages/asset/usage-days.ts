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

/** What the operators counted beside what the agent counted of its own traffic, on the days of which both are known. In bytes. */
export interface UsageDifference {
  readonly days: number;
  readonly sims: number;
  readonly agent: number;
  /** What other programs of the device transferred by its interfaces; `undefined` where the device says nothing of them. */
  readonly others: number | undefined;
  /** Days on which the agent counted more than the operators, whose figures are final. */
  readonly exceeding: readonly UsageDay[];
  /** Number of such days whose figures may still grow. */
  readonly exceedingYoung: number;
}

interface UsageOrigin {
  /** Usage before this time does not change any more, in Unix seconds. */
  readonly finalUntil: number;
  /** Whether the usage of each SIM, in the order of `bySim`, is imported: a day without any may be one that was not imported. */
  readonly isImported: readonly boolean[];
}

/** Compares both counts, on the days of which both are known. */
export function compareUsage(days: readonly UsageDay[], { finalUntil, isImported }: UsageOrigin): UsageDifference {
  const isKnown = ({ sims, bySim, agent }: UsageDay): boolean =>
    sims !== null && agent !== null && !isImported.some((imported, index) => imported && !bySim[index]);
  const both = days.filter(isKnown);
  const exceeding = both.filter(({ sims, agent }) => (agent ?? 0) > (sims ?? 0));
  const isFinal = ({ at }: UsageDay): boolean => at + DAY_S <= finalUntil;
  const counted = both.filter(({ device }) => device !== null && device > 0);
  return {
    days: both.length,
    sims: sumOfDays(both, "sims"),
    agent: sumOfDays(both, "agent"),
    others:
      counted.length === 0
        ? undefined
        : counted.reduce((sum, day) => sum + Math.max(0, (day.device ?? 0) - (day.agent ?? 0)), 0),
    exceeding: exceeding.filter(isFinal),
    exceedingYoung: exceeding.filter((day) => !isFinal(day)).length,
  };
}

function sumOfDays(days: readonly UsageDay[], source: "sims" | "agent"): number {
  return days.reduce((sum, day) => sum + (day[source] ?? 0), 0);
}

/** How old an operator's answer may be before it says that the operator may be away, in seconds: it is asked every 15 minutes. */
const MAX_ANSWER_AGE_S = 20 * 60;

/** An answer about usage, and when it was fetched. In Unix seconds. */
interface Answer {
  readonly as_of?: number;
  readonly finalized_until: number;
  readonly fetchedAt: number;
}

/**
 * Whether the operator has said nothing for longer than it is left alone. What is final is not asked for again, however old the
 * answer is.
 */
export function isOutdated({ as_of: asOf, finalized_until: finalUntil, fetchedAt }: Answer, to: number): boolean {
  return asOf !== undefined && to > finalUntil && fetchedAt - asOf > MAX_ANSWER_AGE_S;
}

/** Bytes of one UTC day by source; `null` where the source says nothing about that day. */
export interface UsageDay {
  /** Start of the day, in Unix seconds. */
  readonly at: number;
  /** Of all SIMs of the asset. Not known while that of one is not. */
  readonly sims: number | null;
  /** Of each SIM, in the order in which they were given. */
  readonly bySim: readonly (number | null)[];
  readonly agent: number | null;
  readonly device: number | null;
}

/** Who counts usage, in the order of display. */
const USAGE_SOURCES = ["sims", "agent", "device"] as const;
export type UsageSource = (typeof USAGE_SOURCES)[number];

/** Returns the sources that have counted anything. */
export function sourcesOf(days: readonly UsageDay[]): readonly UsageSource[] {
  return USAGE_SOURCES.filter((source) => days.some((day) => (day[source] ?? 0) > 0));
}

interface Entry {
  readonly total: number;
  readonly start_time?: number;
}

interface LedgerDay {
  readonly day: string;
  readonly by_purpose: Readonly<Record<string, { readonly sent_bytes: number; readonly received_bytes: number }>>;
  readonly overhead_estimate_bytes: number;
  readonly interfaces: Readonly<Record<string, { readonly sent_bytes: number; readonly received_bytes: number }>>;
}

/**
 * Joins what the SIMs used, as their operators counted, with what the agent and the device's interfaces counted.
 *
 * @param usages of each SIM; `undefined` for one whose operator has not answered
 */
export function usageDays(
  range: UsageRange,
  usages: readonly (readonly Entry[] | undefined)[],
  ledger: readonly LedgerDay[] | undefined,
): readonly UsageDay[] {
  const totals = usages.map((entries) => entries && totalsOf(entries, range.from));
  const counted = new Map((ledger ?? []).map((day) => [Date.parse(`${day.day}T00:00Z`) / 1000, day]));
  const first = Math.floor(range.from / DAY_S) * DAY_S;
  const count = Math.max(0, Math.ceil((range.to - first) / DAY_S));
  return Array.from({ length: count }, (_, index) => {
    const at = first + index * DAY_S;
    const day = counted.get(at);
    // Periods without usage are left out by the service.
    const bySim = totals.map((total) => (total ? (total.get(at) ?? 0) : null));
    return {
      at,
      sims: bySim.reduce((sum, bytes) => (sum === null || bytes === null ? null : sum + bytes), 0),
      bySim,
      agent: day ? sumOf(day.by_purpose) + day.overhead_estimate_bytes : null,
      device: day ? sumOf(day.interfaces) : null,
    };
  });
}

/** Bytes by the start of the day. */
function totalsOf(entries: readonly Entry[], from: number): ReadonlyMap<number, number> {
  const totals = new Map<number, number>();
  for (const { start_time: start, total } of entries) {
    const day = Math.floor((start ?? from) / DAY_S) * DAY_S;
    totals.set(day, (totals.get(day) ?? 0) + total);
  }
  return totals;
}

export function utcDay(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

function sumOf(counters: LedgerDay["interfaces"]): number {
  return Object.values(counters).reduce((sum, both) => sum + both.sent_bytes + both.received_bytes, 0);
}
