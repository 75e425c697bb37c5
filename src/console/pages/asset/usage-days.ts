import type { UsageRange } from "./usage-period.ts";

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

const DAY_S = 86_400;

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
