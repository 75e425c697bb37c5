import { isRolloutOver } from "../../../protocol/rollout-over.ts";
import type { TargetFields } from "./changes.ts";
import { findImpossibility, findObstacle, type Obstacle } from "./obstacle.ts";
import type { Target } from "./target.ts";
import { become, changedFields, type Situation, type TargetDecision } from "./target-decision.ts";
import { LEFT } from "./turn-back.ts";

const WEEK_MS = 7 * 24 * 3_600_000;

/** Pause after an attempt that failed on the device, in milliseconds. It doubles with each further one. */
const FIRST_RETRY_PAUSE_MS = 60_000;
/** The same after one that did not reach the device, such as because it had not come back after a restart of the service. */
const FIRST_UNREACHED_PAUSE_MS = 5_000;
const MAX_RETRY_PAUSE_MS = 3_600_000;

/** Decides about a target of which nothing is under way: whether it may begin, what it waits for, or that the rollout does not wait for it. */
export function decideBegin(situation: Situation): TargetDecision {
  const { target, facts, context, nowMs } = situation;
  const { rollout } = context;
  if (isRolloutOver(rollout)) return leaveOver(situation);
  if (!facts.isMember) return become(target, { state: "skipped", message: LEFT }, nowMs);
  const isStarted = rollout.state !== "draft" && rollout.state !== "awaiting_approval";
  const isTurn = target.direction === "back" || target.wave <= rollout.wave;
  if (!isStarted || !isTurn) return become(target, { state: "pending" }, nowMs);

  // Of the revision nothing is left that the fleet owns.
  if (context.goals[target.direction].apps.length === 0) {
    return become(target, { state: "skipped", message: "The fleet owns none of the apps any more." }, nowMs);
  }
  const impossible = findImpossibility(context.goals[target.direction], facts);
  if (impossible) return become(target, { state: "refused", ...impossible }, nowMs);
  const obstacle = findObstacle(situation);
  if (obstacle) return wait(situation, obstacle);

  const ready: TargetFields = { state: "pending", awaySinceMs: undefined };
  const isRetry = target.state === "pending" && target.attempt > target.attemptsBefore;
  const retryAtMs = isRetry ? target.sinceMs + retryPauseMs(target) : nowMs;
  if (retryAtMs > nowMs) return become(target, { ...ready, dueMs: retryAtMs }, nowMs);
  return { kind: "begin", otherwise: changedFields(target, ready, nowMs) };
}

/**
 * Nothing begins in a rollout that is over. Deferred targets are kept as such: the fleet's upkeep serves them, and also those that
 * one leaves to it which has succeeded on enough of them.
 */
function leaveOver({ target, context, nowMs }: Situation): TargetDecision {
  if (target.state === "deferred") return become(target, {}, nowMs);
  if (target.failedAttempts > 0) return become(target, { state: "failed" }, nowMs);
  if (context.rollout.state === "succeeded" && target.direction === "forward") {
    const message = "The rollout has succeeded on enough assets; the fleet's upkeep serves this one.";
    return become(target, { state: "deferred", message }, nowMs);
  }
  return become(target, { state: "skipped", message: "The rollout ended before its turn." }, nowMs);
}

function wait({ target, context, nowMs }: Situation, obstacle: Obstacle): TargetDecision {
  const { waitsFor, message, endsAtMs } = obstacle;
  const awaySinceMs = waitsFor === "connection" ? obstacle.sinceMs : undefined;
  const untilMs = deferralMs(target, obstacle, context.rollout.strategy, nowMs);
  if (target.state === "deferred" || untilMs <= nowMs) {
    return become(target, { state: "deferred", message, awaySinceMs, dueMs: endsAtMs }, nowMs);
  }
  const dueMs = Math.min(endsAtMs ?? Infinity, untilMs);
  return become(target, { state: "waiting", waitsFor, message, awaySinceMs, dueMs }, nowMs);
}

/**
 * Returns when the rollout stops waiting for the target. An absent device: `offline_after_s` after it was last seen. For all
 * reasons together: the same time after it began to wait, and a week more where windows may be the reason, so that a device
 * that is never there when they are open does not hold the rollout up for ever.
 */
function deferralMs(
  target: Target,
  { sinceMs }: Obstacle,
  strategy: Situation["context"]["rollout"]["strategy"],
  nowMs: number,
): number {
  const { offline_after_s: offlineAfterS, windows, download_windows: downloadWindows } = strategy;
  const hasWindows = target.direction === "forward" && windows.length + downloadWindows.length > 0;
  const waitingSinceMs = target.state === "waiting" ? target.sinceMs : nowMs;
  const overallMs = waitingSinceMs + offlineAfterS * 1000 + (hasWindows ? WEEK_MS : 0);
  return sinceMs === undefined ? overallMs : Math.min(overallMs, sinceMs + offlineAfterS * 1000);
}

function retryPauseMs({ attempt, attemptsBefore, failedAttempts }: Target): number {
  const failedMs = failedAttempts === 0 ? 0 : FIRST_RETRY_PAUSE_MS * 2 ** (failedAttempts - 1);
  const unreached = attempt - attemptsBefore - failedAttempts;
  const unreachedMs = unreached === 0 ? 0 : FIRST_UNREACHED_PAUSE_MS * 2 ** (unreached - 1);
  return Math.min(Math.max(failedMs, unreachedMs), MAX_RETRY_PAUSE_MS);
}

/** Returns the fields of a target whose next attempt begins. They are stored before its deployment is requested. */
export function beginAttempt({ attempt }: Pick<Target, "attempt">, nowMs: number): TargetFields {
  return {
    state: "deploying",
    waitsFor: undefined,
    attempt: attempt + 1,
    deploymentId: undefined,
    wasAttempted: true,
    begunAtMs: nowMs,
    soakSinceMs: undefined,
    downSinceMs: undefined,
    awaySinceMs: undefined,
    sinceMs: nowMs,
    dueMs: nowMs,
    code: undefined,
    message: undefined,
  };
}
