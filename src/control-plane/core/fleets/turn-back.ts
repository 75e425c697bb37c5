import { become, type Situation, type TargetDecision } from "./target-decision.ts";

/*
 * While a rollout goes back, every target that was attempted goes back. A deployment under way ends first.
 */

/** Whether the target goes the wrong way by now and nothing of it is under way. */
export function mustTurn({ target, facts, context }: Situation): boolean {
  if (context.rollout.state !== "rolling_back" || target.direction === "back") return false;
  switch (target.state) {
    case "deploying":
      return false;
    case "lost":
      // Unless the device is there, nobody knows what it does.
      return facts.isConnected && facts.deployment?.status !== "Running";
    case "waiting":
      return target.waitsFor !== "budget";
    case "refused":
    case "skipped":
    case "rolled_back":
      // Nothing was changed.
      return false;
    case "pending":
    case "deferred":
    case "soaking":
    case "succeeded":
    case "failed":
      return true;
  }
}

/** Returns the decision that sends the target back, or skips it if its device was not changed. */
export function turnBack({ target, facts, nowMs }: Situation): TargetDecision {
  if (!target.wasAttempted) {
    return become(target, { state: "skipped", message: "The rollout went back before its turn." }, nowMs);
  }
  if (!facts.isMember) return become(target, { state: "skipped", message: LEFT }, nowMs);
  const fields = { attempt: 0, failedAttempts: 0, deploymentId: undefined, soakSinceMs: undefined } as const;
  const cleared = { awaySinceMs: undefined, code: undefined, message: undefined } as const;
  return become(target, { ...fields, ...cleared, direction: "back", state: "pending", dueMs: nowMs }, nowMs);
}

/** Why a target of an asset that is not a member any more is skipped. */
export const LEFT = "The asset has left the fleet and keeps its apps.";
