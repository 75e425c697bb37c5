import type { ErrorCode } from "../../../protocol/errors.ts";
import { isRolloutOver } from "../../../protocol/rollout-over.ts";
import { classifyFailure } from "./failure-class.ts";
import { become, type Situation, type TargetDecision } from "./target-decision.ts";

/** Number of attempts, since the asset was last to be served anew, that may fail without counting, such as because a device that seems connected is not reached. */
const MAX_UNCOUNTED_ATTEMPTS = 10;

/** How an attempt failed. */
export interface FailedAttempt {
  readonly code: ErrorCode;
  readonly message: string | undefined;
  /** False: the device never had it, as far as is known. */
  readonly isReached?: boolean;
}

/**
 * Decides what a failed attempt means: another one after a pause, or the end of the target. Also for an attempt whose deployment
 * was refused when it was requested. An attempt that says nothing about the revision does not count, up to a bound: a rollout
 * must not wait for such a device for ever.
 */
export function failAttempt(situation: Situation, failure: FailedAttempt): TargetDecision {
  const { target, context, nowMs } = situation;
  const { code, message, isReached = true } = failure;
  const told = { code, message, awaySinceMs: undefined, soakSinceMs: undefined, downSinceMs: undefined } as const;
  const { kind } = classifyFailure(code);
  if (kind === "refused") return become(target, { ...told, state: "refused" }, nowMs);

  const isCounted = kind === "failed" || kind === "harmful" || (kind === "waiting" && isReached);
  const uncounted = target.attempt - target.attemptsBefore - target.failedAttempts;
  const failedAttempts =
    isCounted || uncounted > MAX_UNCOUNTED_ATTEMPTS ? target.failedAttempts + 1 : target.failedAttempts;
  const isLast =
    kind === "harmful" || failedAttempts >= context.rollout.strategy.attempts || uncounted > MAX_UNCOUNTED_ATTEMPTS;
  if (isLast) {
    const tries = target.attempt - target.attemptsBefore;
    const given = isCounted || message === undefined ? message : `${message} It was tried ${tries} times.`;
    // A rollout that goes back has its failed targets turn back at once, and nothing else happens to this one.
    const mustTurn = context.rollout.state === "rolling_back" && target.direction === "forward";
    const fields = { ...told, message: given, state: "failed", failedAttempts } as const;
    return become(target, { ...fields, dueMs: mustTurn ? nowMs : undefined }, nowMs);
  }
  if (isRolloutOver(context.rollout)) {
    // Nothing begins any more.
    return become(target, { ...told, state: failedAttempts > 0 ? "failed" : "skipped", failedAttempts }, nowMs);
  }
  return become(target, { ...told, state: "pending", failedAttempts, deploymentId: undefined, dueMs: nowMs }, nowMs);
}
