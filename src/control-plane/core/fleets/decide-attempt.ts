import type { ErrorCode } from "../../../protocol/errors.ts";
import type { DeploymentFacts } from "./facts.ts";
import { type FailedAttempt, failAttempt } from "./fail-attempt.ts";
import { become, type Situation, type TargetDecision } from "./target-decision.ts";

/** A deployment under way is looked at again after this time, should the event of its end be lost. */
export const REVIEW_INTERVAL_MS = 300_000;

/** Codes that the service ends a deployment with by itself. They do not tell what the device does. */
const ENDED_BY_SERVICE: ReadonlySet<ErrorCode | undefined> = new Set<ErrorCode>([
  "DeviceNotReachable",
  "DeploymentTimeout",
]);

/** Decides about a target with an attempt whose outcome is not known yet: `deploying`, `lost`, or waiting for a budget. */
export function decideAttempt(situation: Situation): TargetDecision {
  const { target, facts, nowMs } = situation;
  if (target.deploymentId === undefined) return { kind: "request" };
  const { deployment } = facts;
  if (deployment === undefined) {
    return failAttempt(situation, { code: "Internal", message: "The deployment is not on record any more." });
  }
  if (deployment.status === "Success") {
    return become(
      target,
      { state: "soaking", awaySinceMs: undefined, code: undefined, message: undefined, dueMs: nowMs },
      nowMs,
    );
  }
  if (!facts.isConnected && isOutcomeOpen(deployment)) return decideAway(situation);
  if (deployment.status === "Fail") return failAttempt(situation, toFailure(deployment));
  return decideRunning(situation, deployment);
}

function toFailure({ code, message, acknowledgedAtMs }: DeploymentFacts): FailedAttempt {
  const isReached = code !== "DeviceNotReachable" || acknowledgedAtMs !== undefined;
  return { code: code ?? "Internal", message, isReached };
}

/** Whether the device may still have the deployment, although it ended for the service. */
function isOutcomeOpen({ status, code, acknowledgedAtMs }: DeploymentFacts): boolean {
  return status === "Running" || (acknowledgedAtMs !== undefined && ENDED_BY_SERVICE.has(code));
}

function decideRunning({ target, nowMs }: Situation, { putOffUntilMs, message }: DeploymentFacts): TargetDecision {
  const fields = { awaySinceMs: undefined, code: undefined, message } as const;
  if (putOffUntilMs !== undefined && putOffUntilMs > nowMs) {
    return become(target, { ...fields, state: "waiting", waitsFor: "budget", dueMs: putOffUntilMs }, nowMs);
  }
  return become(target, { ...fields, state: "deploying", dueMs: nextReviewMs(target.dueMs, nowMs) }, nowMs);
}

/** The device vanished. It is lost after `lost_after_s`; one that only waits for its budget may be away as any other. */
function decideAway({ target, facts, context, nowMs }: Situation): TargetDecision {
  const { state, waitsFor, begunAtMs = target.sinceMs } = target;
  if (state === "lost") return become(target, { awaySinceMs: target.awaySinceMs }, nowMs);
  const { lost_after_s: lostAfterS, offline_after_s: offlineAfterS } = context.rollout.strategy;
  const awaySinceMs = Math.max(facts.lastSeenAtMs ?? begunAtMs, begunAtMs);
  const afterS = waitsFor === "budget" ? Math.max(lostAfterS, offlineAfterS) : lostAfterS;
  const lostAtMs = awaySinceMs + afterS * 1000;
  if (lostAtMs > nowMs) return become(target, { state, waitsFor, awaySinceMs, dueMs: lostAtMs }, nowMs);
  const message = "The device vanished during the deployment.";
  return become(target, { state: "lost", awaySinceMs, code: "DeviceNotReachable", message }, nowMs);
}

/** Keeps a time that is set already, so that looking at the target does not change it. */
function nextReviewMs(dueMs: number | undefined, nowMs: number): number {
  const isSet = dueMs !== undefined && dueMs > nowMs && dueMs <= nowMs + REVIEW_INTERVAL_MS;
  return isSet ? dueMs : nowMs + REVIEW_INTERVAL_MS;
}
