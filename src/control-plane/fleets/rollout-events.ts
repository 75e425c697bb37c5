import type {
  RolloutEvent,
  RolloutState,
  TargetCounts,
  TargetState,
  WaitingBody,
} from "../../protocol/fleets/rollout.ts";
import { type RolloutDecision, settledCounts } from "../core/fleets/progress.ts";
import type { Fleet } from "../core/fleets/fleet.ts";
import type { Rollout } from "../core/fleets/rollout.ts";
import { type TargetWait, type RolloutWait, waitingOf, waitsForPeople } from "../core/fleets/rollout-commands.ts";
import type { AuditEntry } from "../store/audit.ts";
import type { FailureCount, TargetCount } from "../store/rollouts.ts";

const STATUS: Readonly<Partial<Record<RolloutState, RolloutEvent["status"]>>> = {
  succeeded: "Success",
  failed: "Fail",
  cancelled: "Fail",
  superseded: "Fail",
  rolled_back: "Fail",
};

const WORDS: Readonly<Record<RolloutState, string>> = {
  draft: "The rollout is a draft.",
  awaiting_approval: "The rollout awaits approval.",
  running: "The rollout is under way.",
  paused: "The rollout is paused.",
  succeeded: "The rollout has succeeded.",
  failed: "The rollout has failed.",
  cancelled: "The rollout was cancelled.",
  superseded: "The rollout was superseded by a newer one.",
  rolling_back: "The rollout goes back.",
  rolled_back: "The rollout has gone back.",
};

/** Returns the event that says how the rollout is now, without its number. */
export function rolloutEvent(
  rollout: Pick<Rollout, "id" | "state" | "strategy" | "wave" | "waveSizes" | "advanceTo" | "reason">,
  counts: readonly TargetCount[],
  nowMs: number,
  waits?: readonly TargetWait[],
  failures: readonly FailureCount[] = [],
): Omit<RolloutEvent, "seq"> {
  const { id, state, wave, waveSizes, reason } = rollout;
  const isWaved = state === "running" && waveSizes.length > 1;
  const where = isWaved ? `The rollout is in wave ${wave + 1} of ${waveSizes.length}.` : WORDS[state];
  return {
    status: STATUS[state] ?? "Running",
    message: [where, reason, describeFailures(failures)].filter((part) => part !== undefined).join(" "),
    rollout_id: id,
    timestamp: Math.floor(nowMs / 1000),
    state,
    wave: wave + 1,
    counts: sumByState(settledCounts(rollout, counts)),
    ...standingOf(rollout, counts, waits),
  };
}

/** Returns what a rollout waits for, as clients see it. */
export function standingOf(
  rollout: Pick<Rollout, "state" | "strategy" | "wave" | "advanceTo">,
  counts: readonly TargetCount[],
  waits?: readonly TargetWait[],
): Pick<RolloutEvent, "waiting_for" | "waits_for_people"> {
  return {
    waiting_for: waitingOf(rollout, counts, waits).map(toWaitingBody),
    waits_for_people: waitsForPeople(rollout, counts),
  };
}

export function toWaitingBody({ for: reason, count, sinceMs, untilMs, message }: RolloutWait): WaitingBody {
  return {
    for: reason,
    count,
    ...(sinceMs !== undefined && { since: Math.floor(sinceMs / 1000) }),
    ...(untilMs !== undefined && { until: Math.floor(untilMs / 1000) }),
    ...(message !== undefined && { message }),
  };
}

/** Such as "3 attempts have failed so far (CrashLoopBackOff: 2, Unhealthy: 1)."; `undefined` if none has. */
function describeFailures(failures: readonly FailureCount[]): string | undefined {
  const attempts = failures.reduce((total, each) => total + each.attempts, 0);
  if (attempts === 0) return undefined;
  const codes = failures.map(({ code, attempts: count }) => `${code ?? "not what was deployed"}: ${count}`).join(", ");
  return `${attempts} ${attempts === 1 ? "attempt has" : "attempts have"} failed so far (${codes}).`;
}

/** Returns the number of targets in each state that any is in. */
export function sumByState(counts: readonly Pick<TargetCount, "state" | "count">[]): TargetCounts {
  const sums: Partial<Record<TargetState, number>> = {};
  for (const { state, count } of counts) if (count > 0) sums[state] = (sums[state] ?? 0) + count;
  return sums;
}

/** Returns the entry of the audit log for a rollout that stops by itself; `undefined` for other decisions. */
export function stopEntry(
  { id, accountId }: Rollout,
  fleet: Fleet,
  decision: RolloutDecision,
  nowMs: number,
): AuditEntry | undefined {
  if (decision.kind !== "stop") return undefined;
  const { state, reason } = decision.fields;
  return {
    accountId,
    at: Math.floor(nowMs / 1000),
    actor: { kind: "service", id },
    source: undefined,
    action: state === "rolling_back" ? "rollout.reverted" : "rollout.paused",
    assetUuid: "",
    app: "",
    subject: { kind: "rollout", id },
    outcome: "ok",
    details: { fleet: fleet.name, reason },
  };
}
