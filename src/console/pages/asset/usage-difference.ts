import type { UsageDay } from "./usage-days.ts";

const DAY_S = 86_400;

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

export interface UsageOrigin {
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
    sims: sumOf(both, "sims"),
    agent: sumOf(both, "agent"),
    others:
      counted.length === 0
        ? undefined
        : counted.reduce((sum, day) => sum + Math.max(0, (day.device ?? 0) - (day.agent ?? 0)), 0),
    exceeding: exceeding.filter(isFinal),
    exceedingYoung: exceeding.filter((day) => !isFinal(day)).length,
  };
}

function sumOf(days: readonly UsageDay[], source: "sims" | "agent"): number {
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
