import { countApps } from "./command.ts";
import {
  acknowledgedAtMsOf,
  type Deployment,
  type DeploymentChange,
  isFinished,
  progressOf,
  uncertaintyOf,
} from "./deployment.ts";
import { isFromBackup } from "./outcome-uncertainty.ts";
import { isWaitingForDataPlan } from "./sims/plan-obstacle.ts";
import { waitAgainForDevice } from "./waiting.ts";
import { fail, MAX_DEPLOYMENT_DURATION_MS } from "./transitions.ts";

/**
 * Time for a device to undo a cancelled deployment, for each of its apps. After it the deployment ends without
 * confirmation.
 */
export const CANCEL_TIMEOUT_MS = 60_000;

type DeadlineKind = "device" | "acknowledge" | "cancel" | "finish";

/** When the deadlines of a deployment expire, in service time. */
export type DueTimes = Pick<Deployment, "finishDueMs" | "replyDueMs">;

/** The time at which a change is made. */
export interface ChangeTime {
  /** Time of day, Unix milliseconds. */
  readonly nowMs: number;
  /** Service time: does not jump. */
  readonly serviceNowMs: number;
  /** How long a device may take to acknowledge a command, in milliseconds. */
  readonly ackTimeoutMs: number;
  /** Whether the instance that holds the device's session does not respond. Default: it does. */
  readonly isHolderUnresponsive?: boolean;
}

/** A limit on the time until something happens to a deployment. */
export interface Deadline {
  readonly kind: DeadlineKind;
  /** Start of the time, Unix milliseconds. */
  readonly sinceMs: number;
  readonly durationMs: number;
}

/** Returns the deadlines that have not been met; none for a finished deployment. */
export function pendingDeadlines(deployment: Deployment, ackTimeoutMs: number): Deadline[] {
  if (isFinished(deployment)) return [];
  const { state, createdAtMs, deadlineAtMs, waitUntilMs, cancelRequestedAtMs } = deployment;
  const progress = progressOf(deployment);
  // While the outcome is uncertain, the device gets time to report it before any other deadline counts.
  const isAwaited = state.kind === "uncertain" && state.uncertainty !== "asked";
  const untilMs = isAwaited && "untilMs" in state ? state.untilMs : deadlineAtMs;
  // The time of a deployment that has waited for its device begins when it is sent.
  const sinceMs = isAwaited || progress.kind === "waiting" ? createdAtMs : progress.sendingSinceMs;
  const deadlines: Deadline[] = [{ kind: "finish", sinceMs, durationMs: untilMs - sinceMs }];
  if (isAwaited) return deadlines;
  if (cancelRequestedAtMs !== undefined) {
    deadlines.push({
      kind: "cancel",
      sinceMs: cancelRequestedAtMs,
      durationMs: CANCEL_TIMEOUT_MS * countApps(deployment.command),
    });
  } else if (progress.kind === "waiting") {
    deadlines.push({ kind: "device", sinceMs: createdAtMs, durationMs: (waitUntilMs ?? createdAtMs) - createdAtMs });
  } else if (progress.kind === "sending") {
    deadlines.push({ kind: "acknowledge", sinceMs: progress.sendingSinceMs, durationMs: ackTimeoutMs });
  }
  return deadlines;
}

/**
 * Returns the remaining time in milliseconds, at most the whole duration: a start in the future means that the clock was
 * set back since.
 */
export function remainingMs({ sinceMs, durationMs }: Deadline, nowMs: number): number {
  return Math.min(Math.max(0, sinceMs + durationMs - nowMs), durationMs);
}

/**
 * Returns when the deadlines of a deployment expire after a change. A deadline that was known before the change, with the
 * same start, keeps its time, or expires later by as much as it was extended: the time of day may have jumped since. Times
 * are whole milliseconds, rounded up.
 *
 * @param before the deployment before the change; `undefined` to measure all deadlines with the time of day
 */
export function dueTimes(before: Deployment | undefined, after: Deployment, time: ChangeTime): DueTimes {
  const known = before ? pendingDeadlines(before, time.ackTimeoutMs) : [];
  const due: { finishDueMs: number | undefined; replyDueMs: number | undefined } = {
    finishDueMs: undefined,
    replyDueMs: undefined,
  };
  for (const deadline of pendingDeadlines(after, time.ackTimeoutMs)) {
    const field = deadline.kind === "finish" ? "finishDueMs" : "replyDueMs";
    const earlier = known.find(({ kind, sinceMs }) => kind === deadline.kind && sinceMs === deadline.sinceMs);
    const earlierDueMs = before?.[field];
    due[field] =
      earlier && earlierDueMs !== undefined
        ? earlierDueMs + deadline.durationMs - earlier.durationMs
        : Math.ceil(time.serviceNowMs + remainingMs(deadline, time.nowMs));
  }
  return due;
}

/** Adds to a change when the deadlines expire after it. */
export function completeChange(before: Deployment, change: DeploymentChange, time: ChangeTime): DeploymentChange {
  const { fields } = change;
  return { ...change, fields: { ...fields, ...dueTimes(before, { ...before, ...fields }, time) } };
}

/** Returns a new deployment with its deadlines. */
export function completeNew(deployment: Deployment, time: ChangeTime): Deployment {
  return { ...deployment, ...dueTimes(undefined, deployment, time) };
}

/** Returns when the next deadline expires; `undefined` if there is none. */
export function nextDueMs({ finishDueMs, replyDueMs }: DueTimes): number | undefined {
  if (finishDueMs === undefined || replyDueMs === undefined) return finishDueMs ?? replyDueMs;
  return Math.min(finishDueMs, replyDueMs);
}

/** Returns the deployment without the times at which its deadlines expire: the next change measures them anew. */
export function withoutDueTimes(deployment: Deployment): Deployment {
  return { ...deployment, finishDueMs: undefined, replyDueMs: undefined };
}

/** Ends a deployment of which a deadline has passed. Changes nothing if none has. */
export function expire(deployment: Deployment, time: ChangeTime): DeploymentChange | undefined {
  const dueMs = nextDueMs(deployment);
  if (isFinished(deployment) || dueMs === undefined || dueMs > time.serviceNowMs) return undefined;
  const isFinish = dueMs === deployment.finishDueMs;
  const passed = pendingDeadlines(deployment, time.ackTimeoutMs).find(({ kind }) => (kind === "finish") === isFinish);
  const { nowMs } = time;
  switch (passed?.kind) {
    case "acknowledge":
      // Says nothing about the device: the instance that holds its session has not taken the command.
      if (time.isHolderUnresponsive) {
        return (
          waitAgainForDevice(deployment, nowMs, `${HOLDER_UNRESPONSIVE}; waiting for the device`) ??
          fail(deployment, nowMs, "ServiceUnavailable", HOLDER_UNRESPONSIVE_MESSAGE)
        );
      }
      return (
        waitAgainForDevice(deployment, nowMs, "The device does not respond; waiting for it") ??
        fail(deployment, nowMs, "DeviceNotReachable")
      );
    case "device":
      if (deployment.holder !== undefined && isWaitingForDataPlan(deployment)) {
        return fail(deployment, nowMs, "DataBudgetExceeded", PLAN_SPENT_MESSAGE);
      }
      return fail(deployment, nowMs, "DeviceNotReachable");
    case "cancel":
      return fail(
        deployment,
        nowMs,
        "DeploymentCancelled",
        "The deployment was cancelled. The device has not confirmed it yet; it undoes the deployment as soon as it can.",
      );
    case "finish":
      return uncertaintyOf(deployment) === undefined
        ? fail(deployment, nowMs, "DeploymentTimeout", timeoutMessage(deployment))
        : failUncertain(deployment, nowMs);
    case undefined:
      // No such deadline any more: writing the deployment determines its deadlines again.
      return { fields: {} };
  }
}

const HOLDER_UNRESPONSIVE = "The part of the service that the device is connected to does not respond";
const HOLDER_UNRESPONSIVE_MESSAGE = `${HOLDER_UNRESPONSIVE}. The device connects to another part by itself within a minute.`;
const PLAN_SPENT_MESSAGE = "The data plan of the device's SIM was used up for as long as the deployment could wait.";

/** Fails a deployment whose device has not reported the outcome in time. */
function failUncertain(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  const isCancelled = deployment.cancelRequestedAtMs !== undefined;
  if (!isFromBackup(deployment)) {
    if (isCancelled) return fail(deployment, nowMs, "DeploymentCancelled");
    return fail(
      deployment,
      nowMs,
      acknowledgedAtMsOf(deployment) === undefined ? "DeviceNotReachable" : "DeploymentTimeout",
    );
  }
  const message =
    "The service was restored from a backup taken during this deployment, and the device has not reported its outcome since.";
  const code = isCancelled ? "DeploymentCancelled" : "DeploymentTimeout";
  return fail(deployment, nowMs, code, `${message} Nothing is undone on the device.`, { outcome: "unknown" });
}

function timeoutMessage({ createdAtMs, deadlineAtMs }: Deployment): string | undefined {
  if (deadlineAtMs - createdAtMs < MAX_DEPLOYMENT_DURATION_MS) return undefined;
  const days = MAX_DEPLOYMENT_DURATION_MS / (24 * 3_600_000);
  return `The deployment did not end within ${days} days, the maximum including waiting; the device was told to cancel it.`;
}
