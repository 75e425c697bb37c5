import { isRolloutOver } from "../../../protocol/fleets/rollout-over.ts";
import type { Target, TargetFields } from "./rollout.ts";
import {
  become,
  changedFields,
  LEFT,
  type Situation,
  type TargetDecision,
  type TargetFacts,
} from "./target-decision.ts";
import type { ErrorCode } from "../../../protocol/errors/errors.ts";
import type { WaitReason } from "../../../protocol/fleets/rollout.ts";
import { unknownFeatures, usedFeatures } from "../../../protocol/link/features.ts";
import type { ProtocolVersions } from "../../../protocol/version.ts";
import { tooOldMessage } from "../command.ts";
import { type Goal, removesApps } from "./fleet.ts";
import { needsAgent, nextPart } from "./required-agent.ts";
import type { Readiness } from "./waves.ts";

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

  const goal = context.goals[target.direction];
  // Of the revision nothing is left that the fleet owns.
  if (goal.apps.length === 0 && goal.agent === undefined) {
    return become(target, { state: "skipped", message: "The fleet owns none of the apps any more." }, nowMs);
  }
  const impossible = findImpossibility(goal, facts, context.protocols);
  if (impossible) return become(target, { state: "refused", ...impossible }, nowMs);
  const obstacle = findObstacle(situation);
  if (obstacle) return wait(situation, obstacle);
  if (nextPart(goal, facts.agentVersion) === undefined) return arrive(situation);

  const ready: TargetFields = { state: "pending", awaySinceMs: undefined };
  const isRetry = target.state === "pending" && target.attempt > target.attemptsBefore;
  const retryAtMs = isRetry ? target.sinceMs + retryPauseMs(target) : nowMs;
  if (retryAtMs > nowMs) return become(target, { ...ready, dueMs: retryAtMs }, nowMs);
  return { kind: "begin", otherwise: changedFields(target, ready, nowMs) };
}

/** The revision asks for nothing but an agent that is there already. */
function arrive({ target, facts, nowMs }: Situation): TargetDecision {
  const state = target.direction === "back" ? "rolled_back" : "succeeded";
  const message = `Its agent is ${facts.agentVersion} already.`;
  return become(target, { state, message, awaySinceMs: undefined, code: undefined }, nowMs);
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
  const message =
    target.attempt > 0 ? "The rollout ended before its apps' turn." : "The rollout ended before its turn.";
  return become(target, { state: "skipped", message }, nowMs);
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

/** Why an attempt cannot begin now. */
export interface Obstacle {
  readonly waitsFor: WaitReason;
  readonly message: string;
  /** When it is gone at the latest; `undefined`: something has to happen. */
  readonly endsAtMs: number | undefined;
  /** Since when it is there, as far as that is not only known since the target waits. */
  readonly sinceMs?: number | undefined;
}

/** Why an attempt on the asset would make no sense, also later. */
export interface Impossibility {
  readonly code: ErrorCode;
  readonly message: string;
}

/** What only people end. */
export const NEEDS_PEOPLE: ReadonlySet<WaitReason> = new Set<WaitReason>([
  "hold",
  "conflict",
  "variable",
  "acceptance",
]);

/** Time after which an attempt that had to wait for another rollout is tried again, in milliseconds. */
const OTHER_ATTEMPT_PAUSE_MS = 60_000;

/** What is known of an asset before something is deployed there. */
export type BeginFacts = Pick<
  TargetFacts,
  | "isConnected"
  | "protocol"
  | "agentVersion"
  | "lastSeenAtMs"
  | "heldUntilMs"
  | "unacceptedSinceMs"
  | "conflicts"
  | "isBusy"
  | "missingVariables"
>;

/** Returns why the device cannot get the goal at all; `undefined` if it can. @param protocols default: those of this program */
export function findImpossibility(
  goal: Goal,
  { protocol, agentVersion }: Pick<BeginFacts, "protocol" | "agentVersion">,
  protocols?: ProtocolVersions,
): Impossibility | undefined {
  // A device that was never there may be any, and a new agent comes before the apps that may need it.
  if (protocol === undefined || needsAgent(goal, agentVersion)) return undefined;
  const spec = { apps: goal.apps, remove: removesApps(goal) };
  const command = { action: "apply", spec, options: {}, hasRegistryAuth: false } as const;
  const missing = usedFeatures(unknownFeatures(protocol, protocols), command);
  return missing.length > 0 ? { code: "DeviceTooOld", message: tooOldMessage(missing) } : undefined;
}

/**
 * Returns why an attempt cannot begin on the asset now, apart from windows; `undefined` if it can. What people have to end comes
 * first.
 */
export function findAssetObstacle(facts: BeginFacts, nowMs: number): Obstacle | undefined {
  const { heldUntilMs, conflicts, lastSeenAtMs, unacceptedSinceMs, missingVariables } = facts;
  if (heldUntilMs !== undefined && heldUntilMs > nowMs) {
    const endsAtMs = Number.isFinite(heldUntilMs) ? heldUntilMs : undefined;
    return { waitsFor: "hold", message: "The asset is held: only people's own commands reach it.", endsAtMs };
  }
  const [conflict] = conflicts;
  if (conflict !== undefined) {
    const message = `The app ${conflict.app} on this asset belongs to the fleet ${conflict.fleet}.`;
    return { waitsFor: "conflict", message, endsAtMs: undefined };
  }
  if (lastSeenAtMs === undefined && !facts.isConnected) {
    return { waitsFor: "connection", message: "The device has never connected.", endsAtMs: undefined, sinceMs: 0 };
  }
  if (missingVariables.length > 0) {
    const message = `The asset lacks variables that the revision needs: ${missingVariables.join(", ")}.`;
    return { waitsFor: "variable", message, endsAtMs: undefined };
  }
  if (!facts.isConnected) {
    const message = "The device is not connected.";
    return { waitsFor: "connection", message, endsAtMs: undefined, sinceMs: lastSeenAtMs ?? 0 };
  }
  if (unacceptedSinceMs !== undefined) {
    const message = "The device is not accepted yet.";
    return { waitsFor: "acceptance", message, endsAtMs: undefined, sinceMs: unacceptedSinceMs };
  }
  if (!facts.isBusy) return undefined;
  const message = "Another deployment of a fleet is still under way on it.";
  return { waitsFor: "deployment", message, endsAtMs: nowMs + OTHER_ATTEMPT_PAUSE_MS };
}

/** Returns how soon an asset is drawn into a wave. */
export function readinessOf(goal: Goal, facts: BeginFacts, nowMs: number): Readiness {
  const obstacle = findAssetObstacle(facts, nowMs);
  if (findImpossibility(goal, facts) || (obstacle && NEEDS_PEOPLE.has(obstacle.waitsFor))) return "blocked";
  return obstacle ? "away" : "ready";
}

/** Returns why an attempt cannot begin now; `undefined` if it can. Windows are for what is new: going back does not wait. */
function findObstacle(situation: Situation): Obstacle | undefined {
  const obstacle = findAssetObstacle(situation.facts, situation.nowMs);
  return obstacle ?? (situation.target.direction === "back" ? undefined : closedWindow(situation));
}

function closedWindow({ context: { window } }: Situation): Obstacle | undefined {
  switch (window.kind) {
    case "open":
      return undefined;
    case "closed":
      return { waitsFor: "window", message: "It begins in the next window.", endsAtMs: window.opensAtMs };
    case "unknown_zone": {
      const message = "The windows are in the device's own time, and its zone is not known.";
      return { waitsFor: "clock", message, endsAtMs: window.opensAtMs };
    }
  }
}
