import { isRolloutOver } from "../../../protocol/rollout-over.ts";
import { decideAttempt } from "./decide-attempt.ts";
import { decideBegin } from "./decide-begin.ts";
import { decideSoak } from "./decide-soak.ts";
import { judge } from "./judge.ts";
import type { TargetFacts } from "./facts.ts";
import type { Target } from "./target.ts";
import { become, NOT_SOAKING, type Situation, type TargetContext, type TargetDecision } from "./target-decision.ts";
import { mustTurn, turnBack } from "./turn-back.ts";

/**
 * Decides what is to be done with a target now. Depends on nothing but its arguments, and may be called at any time and any
 * number of times. Every change says when the target is due next: something that does not happen, such as the return of a
 * device, is noticed then. A target that is not due waits for an event, or for its turn.
 */
export function decideTarget(
  target: Target,
  facts: TargetFacts,
  context: TargetContext,
  nowMs: number,
): TargetDecision {
  const situation = { target, facts, context, nowMs };
  if (mustTurn(situation)) return turnBack(situation);
  if (isOvertaken(situation)) return beginAnew(target, nowMs);
  switch (target.state) {
    case "pending":
    case "deferred":
      return decideBegin(situation);
    case "waiting":
      return target.waitsFor === "budget" ? decideAttempt(situation) : decideBegin(situation);
    case "deploying":
    case "lost":
      return decideAttempt(situation);
    case "soaking":
      return decideSoak(situation);
    case "failed":
      return decideFailed(situation);
    case "changed_by_hand":
      return decideChanged(situation);
    case "succeeded":
    case "refused":
    case "skipped":
    case "rolled_back":
      // What is changed on the device later is shown, and repaired when a person asks for it.
      return become(target, {}, nowMs);
  }
}

/**
 * Whether the latest attempt of an upkeep has ended, or has failed, with what was the stable revision before: it says nothing about the
 * one that is to be brought now.
 */
function isOvertaken({ target, facts, context: { rollout } }: Situation): boolean {
  const { state, begunAtMs = 0, attempt, attemptsBefore } = target;
  const { kind, waveEnteredAtMs = 0 } = rollout;
  if (kind !== "upkeep" || attempt === attemptsBefore || begunAtMs >= waveEnteredAtMs) return false;
  if (state === "soaking" || state === "pending" || (state === "waiting" && target.waitsFor !== "budget")) return true;
  const hasEnded = facts.isConnected && facts.deployment !== undefined && facts.deployment.status !== "Running";
  return hasEnded && (state === "deploying" || state === "waiting" || state === "lost");
}

function beginAnew(target: Target, nowMs: number): TargetDecision {
  const { attempt: attemptsBefore } = target;
  const cleared = { awaySinceMs: undefined, deploymentId: undefined, code: undefined, message: undefined } as const;
  const fields = { ...NOT_SOAKING, ...cleared, failedAttempts: 0, attemptsBefore } as const;
  return become(target, { ...fields, state: "pending", dueMs: nowMs }, nowMs);
}

/** Once people have put right what they changed, or started what they stopped, the target soaks again. */
function decideChanged({ target, facts, context, nowMs }: Situation): TargetDecision {
  const mayGoOn = facts.isConnected && facts.isMember && !isRolloutOver(context.rollout);
  const verdict = mayGoOn ? judge(context.goals[target.direction], facts, nowMs) : undefined;
  if (verdict?.kind !== "as_specified" && verdict?.kind !== "not_up") return become(target, {}, nowMs);
  return become(target, { ...NOT_SOAKING, state: "soaking", message: undefined, dueMs: nowMs }, nowMs);
}

/** A target that failed because its device was away while it soaked soaks again when the device is back. */
function decideFailed({ target, facts, context, nowMs }: Situation): TargetDecision {
  const wasAway = target.code === "DeviceNotReachable" && facts.deployment?.status === "Success";
  if (!wasAway || !facts.isConnected || !facts.isMember || isRolloutOver(context.rollout))
    return become(target, {}, nowMs);
  const fields = { ...NOT_SOAKING, awaySinceMs: undefined, code: undefined, message: undefined };
  return become(target, { ...fields, state: "soaking", dueMs: nowMs }, nowMs);
}
