import type { ErrorCode } from "../../../protocol/errors.ts";
import type { PastAttemptState, TargetState } from "../../../protocol/rollout.ts";
import type { Direction, Target } from "./target.ts";

/** Attempts that are kept of a target in each direction, and how much of their words. */
export const MAX_PAST_ATTEMPTS = 10;
const MAX_MESSAGE_LENGTH = 1_000;
const MAX_LOGS_LENGTH = 2_000;

/** An attempt that has ended, as it stays on record whatever happens to its target. Times are Unix milliseconds. */
export interface PastAttempt {
  readonly direction: Direction;
  /** Its number in this direction, from 1. */
  readonly attempt: number;
  /**
   * What the target was at its end; `failed` also where another attempt followed. `not_counted`: it has said nothing about the revision,
   * such as because it did not reach the device.
   */
  readonly state: PastAttemptState;
  readonly code: ErrorCode | undefined;
  readonly message: string | undefined;
  readonly deploymentId: string | undefined;
  readonly begunAtMs: number | undefined;
  readonly endedAtMs: number;
  /** The last lines of the app's output, where the device has sent them. */
  readonly logs: string | undefined;
}

const ENDS: ReadonlySet<TargetState> = new Set(["failed", "refused", "lost", "changed_by_hand"]);
/** States of a target whose latest attempt has ended, with which it is on record. */
const AFTER_END: ReadonlySet<TargetState> = new Set(["pending", "deferred"]);

/**
 * Returns the attempt that ends with a change of a target, or that the target tells of no longer after it; `undefined` if there is
 * none. What succeeds is kept when the target goes back: the target itself tells of it until then. Where the attempt is on record as
 * one that has failed, such as because its device was away for a while, its success is to be kept too: see `isAmendment`.
 *
 * @param logs the last lines of the deployment's app, if there are any
 */
export function pastAttempt(before: Target, after: Target, logs: string | undefined): PastAttempt | undefined {
  if (before.attempt === 0) return undefined;
  const { direction, attempt, begunAtMs } = before;
  const common = { direction, attempt, begunAtMs, deploymentId: before.deploymentId };
  if (after.direction !== before.direction) {
    if (hasEnded(before)) return undefined;
    const { state, code, message, sinceMs } = before;
    return { ...common, state, code, message: shorten(message), endedAtMs: sinceMs, logs: tailOf(logs) };
  }
  if (after.state === before.state || after.attempt !== before.attempt) return undefined;
  const isRepeated = after.state === "pending" && after.code !== undefined;
  const hasSucceeded = after.state === "succeeded" || after.state === "rolled_back";
  if (!isRepeated && !hasSucceeded && !ENDS.has(after.state)) return undefined;
  const { code, message, sinceMs: endedAtMs } = after;
  const state = isCounted(before, after) ? (isRepeated ? "failed" : after.state) : "not_counted";
  return { ...common, state, code, message: shorten(message), endedAtMs, logs: tailOf(logs) };
}

/** Returns the attempt with the last lines of an app's output, if there are any. */
export function withLogs(past: PastAttempt, logs: string | undefined): PastAttempt {
  return { ...past, logs: tailOf(logs) ?? past.logs };
}

/** Whether this only corrects what is on record of the attempt, and is not kept otherwise. */
export function isAmendment(
  past: PastAttempt,
  before: Pick<Target, "direction">,
  after: Pick<Target, "direction">,
): boolean {
  return before.direction === after.direction && (past.state === "succeeded" || past.state === "rolled_back");
}

/** Between two attempts, the last one is on record as what it was. */
function hasEnded({ state, waitsFor }: Target): boolean {
  return AFTER_END.has(state) || (state === "waiting" && waitsFor !== "budget");
}

/** An attempt that fails while it is deployed counts, unless that says nothing about the revision: see `failAttempt`. */
function isCounted(before: Target, after: Target): boolean {
  const hasFailed = after.state === "pending" || after.state === "failed";
  return !hasFailed || before.state === "soaking" || after.failedAttempts > before.failedAttempts;
}

function shorten(message: string | undefined): string | undefined {
  return message === undefined || message.length <= MAX_MESSAGE_LENGTH
    ? message
    : `${message.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}

function tailOf(logs: string | undefined): string | undefined {
  return logs === undefined || logs === "" ? undefined : logs.slice(-MAX_LOGS_LENGTH);
}
