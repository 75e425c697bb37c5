import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import { decideAttempt } from "./decide-attempt.ts";
import { decideBegin } from "./decide-begin.ts";
import { areByHand, compareApps, isOfDeployment, judge, type NotUp, REPORT_GRACE_MS, type Verdict } from "./judge.ts";
import {
  become,
  LEFT,
  NOT_SOAKING,
  type Situation,
  type TargetContext,
  type TargetDecision,
  type TargetFacts,
} from "./target-decision.ts";
import { nextPart } from "./required-agent.ts";
import type { Target, TargetFields } from "./rollout.ts";
import { soakMsOf } from "../../../protocol/fleets/rollout-strategy.ts";

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

/*
 * While a rollout goes back, every target that was attempted goes back. A deployment under way ends first.
 */

/** Whether the target goes the wrong way by now and nothing of it is under way. */
function mustTurn({ target, facts, context }: Situation): boolean {
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
function turnBack(situation: Situation): TargetDecision {
  const { target, facts, context, nowMs } = situation;
  if (!target.wasAttempted) {
    return become(target, { state: "skipped", message: "The rollout went back before its turn." }, nowMs);
  }
  if (!facts.isMember) return become(target, { state: "skipped", message: LEFT }, nowMs);
  const fields = { attempt: 0, attemptsBefore: 0, failedAttempts: 0, deploymentId: undefined } as const;
  const cleared = { ...NOT_SOAKING, awaySinceMs: undefined, code: undefined, message: undefined } as const;
  const { deployment } = facts;
  const { forward, back } = context.goals;
  if (forward.agent !== undefined && nextPart(back, facts.agentVersion) === undefined) {
    const message = `Its agent stays at ${facts.agentVersion ?? "its version"}: no older one is brought.`;
    return become(target, { ...fields, ...cleared, direction: "back", state: "rolled_back", message }, nowMs);
  }
  if (deployment?.status === "Fail" && facts.isConnected) {
    // A deployment that failed has left what was there before: nothing has to be done as soon as the device reports that.
    const { kind } = judge(back, facts, nowMs);
    const untilMs = Math.max(deployment.finishedAtMs ?? 0, facts.connectedSinceMs ?? 0) + REPORT_GRACE_MS;
    if (kind === "unknown" && facts.report?.heldSinceMs === undefined && untilMs > nowMs)
      return become(target, { dueMs: untilMs }, nowMs);
    const { revision } = back;
    const message = revision === undefined ? "Nothing of it was left there." : `It still ran revision ${revision}.`;
    if (kind === "as_specified")
      return become(target, { ...fields, ...cleared, direction: "back", state: "rolled_back", message }, nowMs);
  }
  return become(target, { ...fields, ...cleared, direction: "back", state: "pending", dueMs: nowMs }, nowMs);
}

type Drifted = Extract<Verdict, { kind: "drifted" }>;

/** Time for apps to come up, beside twice the soak, before a target whose apps are not up has failed. */
const COME_UP_TIMEOUT_MS = 300_000;

/**
 * An app that the device calls restarting for longer than this has ended twice at least: after one end it is running a minute after its
 * start.
 */
const CRASH_TIMEOUT_MS = 90_000;

/** The same where the device holds reports back, which it does for five minutes at most. */
const HELD_CRASH_TIMEOUT_MS = 330_000;

/** A target that soaks is looked at again after this time, should a report be missed. */
const REVIEW_INTERVAL_MS = 60_000;

/**
 * Decides about a target whose deployment has succeeded: it succeeds when its connected device reports every app as specified,
 * and they have stayed up for the soak. Going back, they only have to be up. A device that is away for `lost_after_s` fails:
 * the new revision may be the reason. It soaks again if it returns.
 */
function decideSoak(situation: Situation): TargetDecision {
  const { target, facts, context, nowMs } = situation;
  if (!facts.isMember) return become(target, { state: "skipped", message: LEFT }, nowMs);
  if (!facts.isConnected) return decideAway(situation);
  const verdict = judge(context.goals[target.direction], facts, nowMs);
  switch (verdict.kind) {
    case "as_specified":
      return decideUp(situation, verdict.upSinceMs);
    case "not_up":
      return decideNotUp(situation, verdict);
    case "drifted":
      return decideDrifted(situation, verdict);
    case "unknown":
      return decideUnknown(situation, verdict.why);
  }
}

function decideUp({ target, context, nowMs }: Situation, soakSinceMs: number): TargetDecision {
  const soakMs = soakMsOfTarget(target, context);
  const fields = { ...NOT_SOAKING, soakSinceMs, awaySinceMs: undefined, code: undefined, message: undefined } as const;
  if (soakSinceMs + soakMs > nowMs) return become(target, { ...fields, dueMs: soakSinceMs + soakMs }, nowMs);
  return become(target, { ...fields, state: target.direction === "back" ? "rolled_back" : "succeeded" }, nowMs);
}

/** An app in a crash loop does not come up by waiting for it: that ends the soak early. What the target goes back to stays there. */
function decideNotUp(
  { target, context, nowMs }: Situation,
  { why, code, isCrashing, isUnsure }: NotUp,
): TargetDecision {
  const downSinceMs = isCrashing ? (target.downSinceMs ?? nowMs) : undefined;
  const fields = { soakSinceMs: undefined, downSinceMs, awaySinceMs: undefined, message: why };
  const crashedMs =
    downSinceMs === undefined || target.direction === "back"
      ? Infinity
      : downSinceMs + (isUnsure ? HELD_CRASH_TIMEOUT_MS : CRASH_TIMEOUT_MS);
  const untilMs = Math.min(target.sinceMs + 2 * soakMsOfTarget(target, context) + COME_UP_TIMEOUT_MS, crashedMs);
  if (untilMs > nowMs) return become(target, { ...fields, dueMs: untilMs }, nowMs);
  return become(target, { ...fields, state: "failed", code }, nowMs);
}

/**
 * A report may be older than it seems for a moment, unless it says which deployment the apps are from. After that, people have changed or stopped its apps: they are not overruled, and
 * that says nothing about the revision. What only was stopped has gone back all the same.
 */
function decideDrifted(situation: Situation, { what, differences }: Drifted): TargetDecision {
  const { target, facts, context, nowMs } = situation;
  const fields = { ...NOT_SOAKING, awaySinceMs: undefined };
  const endedAtMs = facts.deployment?.finishedAtMs ?? target.sinceMs;
  const untilMs = Math.max(endedAtMs, facts.connectedSinceMs ?? 0) + REPORT_GRACE_MS;
  const isSure = isOfDeployment(context.goals[target.direction], facts.report?.apps ?? [], facts.deployment?.id);
  if (untilMs > nowMs && !isSure) return become(target, { ...fields, dueMs: untilMs }, nowMs);
  if (isRolloutOver(context.rollout)) {
    return become(
      target,
      { ...fields, state: "skipped", message: `The rollout is over, and another change came: ${what}` },
      nowMs,
    );
  }
  if (target.direction === "back" && differences.every(({ kind }) => kind === "stopped"))
    return become(target, { ...fields, state: "rolled_back", message: what }, nowMs);
  if (areByHand(differences)) return become(target, { ...fields, state: "changed_by_hand", message: what }, nowMs);
  return become(target, { ...fields, state: "failed", message: `It does not run what was deployed: ${what}` }, nowMs);
}

/** Silence of a connected device is no success. After `offline_after_s` it is a failure. */
function decideUnknown({ target, context, nowMs }: Situation, message: string): TargetDecision {
  const fields = { ...NOT_SOAKING, awaySinceMs: undefined, message };
  const untilMs = target.sinceMs + context.rollout.strategy.offline_after_s * 1000;
  if (untilMs <= nowMs) return become(target, { ...fields, state: "failed", code: "DeviceFailed" }, nowMs);
  return become(target, { ...fields, dueMs: reviewMs(target.dueMs, untilMs, nowMs) }, nowMs);
}

function decideAway({ target, facts, context, nowMs }: Situation): TargetDecision {
  const begunAtMs = target.begunAtMs ?? target.sinceMs;
  const awaySinceMs = Math.max(facts.lastSeenAtMs ?? begunAtMs, begunAtMs);
  const untilMs = awaySinceMs + context.rollout.strategy.lost_after_s * 1000;
  if (untilMs > nowMs) return become(target, { downSinceMs: undefined, awaySinceMs, dueMs: untilMs }, nowMs);
  const fields: TargetFields = { state: "failed", ...NOT_SOAKING, awaySinceMs, code: "DeviceNotReachable" };
  return become(target, { ...fields, message: "The device vanished after the deployment." }, nowMs);
}

function soakMsOfTarget({ direction, wave }: Situation["target"], { rollout }: Situation["context"]): number {
  return direction === "back" ? 0 : soakMsOf(rollout.strategy, wave);
}

function reviewMs(dueMs: number | undefined, untilMs: number, nowMs: number): number {
  const isSet = dueMs !== undefined && dueMs > nowMs && dueMs <= nowMs + REVIEW_INTERVAL_MS;
  return Math.min(untilMs, isSet ? dueMs : nowMs + REVIEW_INTERVAL_MS);
}
