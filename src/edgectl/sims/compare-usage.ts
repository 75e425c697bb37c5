import type { DataUsage } from "../api/usage.ts";

const DAY = 24 * 3600;

/** What the operators counted, beside what the agent counted itself. All in bytes, of the same days. */
export interface UsageComparison {
  /** First and last day, UTC. */
  readonly from: string;
  readonly to: string;
  /** When the device said what it counted, in Unix seconds. */
  readonly agent_as_of: number;
  /** By the operators of all SIMs of the asset: the agent does not know which of them carried what. */
  readonly operator_bytes: number;
  /** The agent's own traffic, with TLS. */
  readonly agent_bytes: number;
  readonly agent_by_purpose: Readonly<Record<string, number>>;
  /** Estimate of the agent's TCP and IP headers. */
  readonly overhead_estimate_bytes: number;
  /** What is neither: apps, the system, and what the operators count otherwise. Never below 0. */
  readonly other_bytes: number;
  /** The kernel's counters by network interface. */
  readonly interfaces: Readonly<Record<string, number>>;
  /** Present if the agent counted more than the operators did. */
  readonly excess?: Excess;
}

export interface Excess {
  readonly bytes: number;
  /** Whether it is so on the days that are final, of which these bytes are then: the operators will not count more. */
  readonly is_final: boolean;
}

/** Compares the usage of the SIMs with the ledger of the agent; `undefined` if the device has never sent its ledger. */
export function compareUsage({
  from,
  to,
  days,
  sims,
  reported_at: reportedAt,
}: DataUsage): UsageComparison | undefined {
  if (reportedAt === null) return undefined;
  const finalUntil = Math.min(...sims.map(({ finalized_until: until }) => until ?? 0));
  const isFinal = ({ day }: { readonly day: string }): boolean => Date.parse(day) / 1000 + DAY <= finalUntil;
  const counted = sims.flatMap((sim) => sim.days);
  const operator = sum(counted.map(({ total }) => total));
  const agent = sum(days.map(agentBytesOf));
  const overhead = sum(days.map((day) => day.overhead_estimate_bytes));
  const finalExcess =
    sum(days.filter(isFinal).map(agentBytesOf)) - sum(counted.filter(isFinal).map(({ total }) => total));
  const excess =
    finalExcess > 0 ? { bytes: finalExcess, is_final: true } : { bytes: agent - operator, is_final: false };
  return {
    from,
    to,
    agent_as_of: reportedAt,
    operator_bytes: operator,
    agent_bytes: agent,
    agent_by_purpose: addUp(days.map((day) => day.by_purpose)),
    overhead_estimate_bytes: overhead,
    other_bytes: Math.max(0, operator - agent - overhead),
    interfaces: addUp(days.map((day) => day.interfaces)),
    ...(excess.bytes > 0 && { excess }),
  };
}

type Day = DataUsage["days"][number];
type Both = Day["by_purpose"][string];

function agentBytesOf(day: Day): number {
  return sum(Object.values(day.by_purpose).map(bytesOf));
}

function addUp(records: readonly Readonly<Record<string, Both>>[]): Record<string, number> {
  const sums = new Map<string, number>();
  for (const [name, both] of records.flatMap((record) => Object.entries(record)))
    sums.set(name, (sums.get(name) ?? 0) + bytesOf(both));
  return Object.fromEntries(sums);
}

function bytesOf({ sent_bytes: sent, received_bytes: received }: Both): number {
  return sent + received;
}

function sum(values: readonly number[]): number {
  return values.reduce((before, value) => before + value, 0);
}
