import { isRolloutOver } from "../../../protocol/rollout-over.ts";
import { soakMsOf } from "../../../protocol/rollout-strategy.ts";
import type { TargetFields } from "./changes.ts";
import { areByHand, isOfDeployment, judge, type NotUp, REPORT_GRACE_MS, type Verdict } from "./judge.ts";
import { become, NOT_SOAKING, type Situation, type TargetDecision } from "./target-decision.ts";
import { LEFT } from "./turn-back.ts";

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
export function decideSoak(situation: Situation): TargetDecision {
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
