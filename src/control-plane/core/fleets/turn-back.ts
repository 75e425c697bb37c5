import { compareApps } from "./compare-app.ts";
import { judge, REPORT_GRACE_MS } from "./judge.ts";
import { become, NOT_SOAKING, type Situation, type TargetDecision } from "./target-decision.ts";

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
      // Unless the device is there, its state is unknown.
      return facts.isConnected && facts.deployment?.status !== "Running";
    case "waiting":
      return target.waitsFor !== "budget";
    case "refused":
    case "skipped":
    case "rolled_back":
      // Nothing was changed.
      return false;
    case "changed_by_hand":
      // What people changed is not overruled. What they only stopped runs the revision as soon as they start it.
      return isOnlyStopped({ target, facts, context });
    case "pending":
    case "deferred":
    case "soaking":
    case "succeeded":
    case "failed":
      return true;
  }
}

function isOnlyStopped({ facts, context }: Pick<Situation, "target" | "facts" | "context">): boolean {
  return compareApps(context.goals.forward, facts.report ?? { apps: [] }).every(({ kind }) => kind === "stopped");
}

/** Returns the decision that sends the target back, or skips it if its device was not changed, or is back already. */
export function turnBack(situation: Situation): TargetDecision {
  const { target, facts, context, nowMs } = situation;
  if (!target.wasAttempted) {
    return become(target, { state: "skipped", message: "The rollout went back before its turn." }, nowMs);
  }
  if (!facts.isMember) return become(target, { state: "skipped", message: LEFT }, nowMs);
  const fields = { attempt: 0, attemptsBefore: 0, failedAttempts: 0, deploymentId: undefined } as const;
  const cleared = { ...NOT_SOAKING, awaySinceMs: undefined, code: undefined, message: undefined } as const;
  const { deployment } = facts;
  if (deployment?.status === "Fail" && facts.isConnected) {
    // A deployment that failed has left what was there before: nothing has to be done as soon as the device reports that.
    const { kind } = judge(context.goals.back, facts, nowMs);
    const untilMs = Math.max(deployment.finishedAtMs ?? 0, facts.connectedSinceMs ?? 0) + REPORT_GRACE_MS;
    if (kind === "unknown" && facts.report?.heldSinceMs === undefined && untilMs > nowMs)
      return become(target, { dueMs: untilMs }, nowMs);
    const { revision } = context.goals.back;
    const message = revision === undefined ? "Nothing of it was left there." : `It still ran revision ${revision}.`;
    if (kind === "as_specified")
      return become(target, { ...fields, ...cleared, direction: "back", state: "rolled_back", message }, nowMs);
  }
  return become(target, { ...fields, ...cleared, direction: "back", state: "pending", dueMs: nowMs }, nowMs);
}

/** Why a target of an asset that is not a member any more is skipped. */
export const LEFT = "The asset has left the fleet and keeps its apps.";
