import type { ErrorCode } from "../../../protocol/errors.ts";
import type { TargetState } from "../../../protocol/rollout.ts";
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
  /** What the target was at its end; `failed` also where another attempt followed. */
  readonly state: TargetState;
  readonly code: ErrorCode | undefined;
  readonly message: string | undefined;
  readonly deploymentId: string | undefined;
  readonly begunAtMs: number | undefined;
  readonly endedAtMs: number;
  /** The last lines of the app's output, where the device has sent them. */
  readonly logs: string | undefined;
}

const ENDS: ReadonlySet<TargetState> = new Set(["failed", "refused", "lost", "changed_by_hand"]);

/**
 * Returns the attempt that ends with a change of a target, or that the target tells of no longer after it; `undefined` if there is
 * none. What succeeds is kept when the target goes back: the target itself tells of it until then.
 *
 * @param logs the last lines of the deployment's app, if there are any
 */
export function pastAttempt(before: Target, after: Target, logs: string | undefined): PastAttempt | undefined {
  if (before.attempt === 0) return undefined;
  const { direction, attempt, begunAtMs } = before;
  const common = { direction, attempt, begunAtMs, deploymentId: before.deploymentId };
  if (after.direction !== before.direction) {
    const { state, code, message, sinceMs } = before;
    return { ...common, state, code, message: shorten(message), endedAtMs: sinceMs, logs: tailOf(logs) };
  }
  if (after.state === before.state || after.attempt !== before.attempt) return undefined;
  const isRepeated = after.state === "pending" && after.code !== undefined;
  if (!isRepeated && !ENDS.has(after.state)) return undefined;
  const { code, message, sinceMs: endedAtMs } = after;
  const state = isRepeated ? "failed" : after.state;
  return { ...common, state, code, message: shorten(message), endedAtMs, logs: tailOf(logs) };
}

function shorten(message: string | undefined): string | undefined {
  return message === undefined || message.length <= MAX_MESSAGE_LENGTH
    ? message
    : `${message.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}

function tailOf(logs: string | undefined): string | undefined {
  return logs === undefined || logs === "" ? undefined : logs.slice(-MAX_LOGS_LENGTH);
}
