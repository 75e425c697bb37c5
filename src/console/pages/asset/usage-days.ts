/** Bytes of one UTC day by source; `null` where the source says nothing about that day. */
export interface UsageDay {
  /** Start of the day, in Unix seconds. */
  readonly at: number;
  readonly sims: number | null;
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

/** Joins what the SIMs used, as the operator counted, with what the agent and the device's interfaces counted. */
export function usageDays(
  range: { readonly from: number; readonly to: number },
  usages: readonly Entry[] | undefined,
  ledger: readonly LedgerDay[] | undefined,
): readonly UsageDay[] {
  const sims = new Map<number, number>();
  for (const { start_time: start, total } of usages ?? []) {
    const day = Math.floor((start ?? range.from) / DAY_S) * DAY_S;
    sims.set(day, (sims.get(day) ?? 0) + total);
  }
  const counted = new Map((ledger ?? []).map((day) => [Date.parse(`${day.day}T00:00Z`) / 1000, day]));
  const first = Math.floor(range.from / DAY_S) * DAY_S;
  const count = Math.max(0, Math.ceil((range.to - first) / DAY_S));
  return Array.from({ length: count }, (_, index) => {
    const at = first + index * DAY_S;
    const day = counted.get(at);
    return {
      at,
      // Periods without usage are left out by the service.
      sims: usages ? (sims.get(at) ?? 0) : null,
      agent: day ? sumOf(day.by_purpose) + day.overhead_estimate_bytes : null,
      device: day ? sumOf(day.interfaces) : null,
    };
  });
}

/** The UTC month that a time is in: its start, and now. */
export function monthUntil(nowS: number): { readonly from: number; readonly to: number } {
  const now = new Date(nowS * 1000);
  return { from: Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), 1) / 1000, to: Math.floor(nowS) };
}

export function utcDay(seconds: number): string {
  return new Date(seconds * 1000).toISOString().slice(0, 10);
}

function sumOf(counters: LedgerDay["interfaces"]): number {
  return Object.values(counters).reduce((sum, both) => sum + both.sent_bytes + both.received_bytes, 0);
}
