import { type DeploymentChange, type Deployment, isFinished } from "./deployment.ts";
import { isFromBackup } from "./outcome-uncertainty.ts";
import { fail, MAX_DEPLOYMENT_DURATION_MS } from "./transitions.ts";

/** How long a device may take to undo a cancelled deployment before it is reported cancelled without its word. */
export const CANCEL_TIMEOUT_MS = 60_000;

type DeadlineKind = "acknowledge" | "cancel" | "finish";

/** Something that has to happen to a deployment, and how long it may take. */
export interface Deadline {
  readonly kind: DeadlineKind;
  /** When the time began to run, Unix milliseconds. */
  readonly sinceMs: number;
  readonly durationMs: number;
}

/** Everything that has to happen yet; nothing for a finished deployment. */
export function pendingDeadlines(deployment: Deployment, ackTimeoutMs: number): Deadline[] {
  if (isFinished(deployment)) return [];
  const { createdAtMs, deadlineAtMs, acknowledgedAtMs, cancelRequestedAtMs, uncertainty, uncertainUntilMs } =
    deployment;
  // The device is waited for first.
  const isAwaited = uncertainty !== undefined && uncertainty !== "asked";
  const untilMs = isAwaited ? (uncertainUntilMs ?? deadlineAtMs) : deadlineAtMs;
  const deadlines: Deadline[] = [{ kind: "finish", sinceMs: createdAtMs, durationMs: untilMs - createdAtMs }];
  if (isAwaited) return deadlines;
  if (cancelRequestedAtMs !== undefined) {
    deadlines.push({ kind: "cancel", sinceMs: cancelRequestedAtMs, durationMs: CANCEL_TIMEOUT_MS });
  } else if (acknowledgedAtMs === undefined) {
    deadlines.push({ kind: "acknowledge", sinceMs: createdAtMs, durationMs: ackTimeoutMs });
  }
  return deadlines;
}

/**
 * How much of the time is left, in milliseconds. Never more than the whole of it: what happened "in the future" was
 * noted before the clock was set back.
 */
export function remainingMs({ sinceMs, durationMs }: Deadline, nowMs: number): number {
  return Math.min(Math.max(0, sinceMs + durationMs - nowMs), durationMs);
}

/**
 * Ends a deployment whose deadline has passed, unless what it was for has happened meanwhile, or it was given more time.
 *
 * @param passed the deadline as it was when its time began to be measured
 */
export function expire(
  deployment: Deployment,
  passed: Pick<Deadline, "kind" | "durationMs">,
  nowMs: number,
): DeploymentChange | undefined {
  // How long an acknowledgement may take is no part of the record, so it is the same as it was.
  const deadline = pendingDeadlines(deployment, passed.durationMs).find(({ kind }) => kind === passed.kind);
  if (!deadline || deadline.durationMs > passed.durationMs) return undefined;
  switch (passed.kind) {
    case "acknowledge":
      return fail(deployment, nowMs, "DeviceNotReachable");
    case "cancel":
      return fail(
        deployment,
        nowMs,
        "DeploymentCancelled",
        "The deployment was cancelled. The device has not confirmed it yet; it undoes the deployment as soon as it can.",
      );
    case "finish":
      return deployment.uncertainty === undefined
        ? fail(deployment, nowMs, "DeploymentTimeout", timeoutMessage(deployment))
        : failUncertain(deployment, nowMs);
  }
}

/** The device has not come back to say what became of it. */
function failUncertain(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  const { acknowledgedAtMs, cancelRequestedAtMs } = deployment;
  const isCancelled = cancelRequestedAtMs !== undefined;
  if (!isFromBackup(deployment)) {
    if (isCancelled) return fail(deployment, nowMs, "DeploymentCancelled");
    return fail(deployment, nowMs, acknowledgedAtMs === undefined ? "DeviceNotReachable" : "DeploymentTimeout");
  }
  const message =
    "The service was restored from a backup taken during this deployment, and the device has not said since what became of it.";
  const code = isCancelled ? "DeploymentCancelled" : "DeploymentTimeout";
  return fail(deployment, nowMs, code, `${message} Nothing is undone on the device.`, { outcome: "unknown" });
}

function timeoutMessage({ createdAtMs, deadlineAtMs }: Deployment): string | undefined {
  if (deadlineAtMs - createdAtMs < MAX_DEPLOYMENT_DURATION_MS) return undefined;
  const days = MAX_DEPLOYMENT_DURATION_MS / (24 * 3_600_000);
  return `The deployment did not end within ${days} days, the longest it may wait for its device; the device was told to cancel it.`;
}
