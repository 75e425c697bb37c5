import { countApps } from "./command.ts";
import { type DeploymentChange, type Deployment, isFinished } from "./deployment.ts";
import { isFromBackup } from "./outcome-uncertainty.ts";
import { fail, MAX_DEPLOYMENT_DURATION_MS } from "./transitions.ts";

/**
 * Time for a device to undo a cancelled deployment, for each of its apps. After it the deployment ends without
 * confirmation.
 */
export const CANCEL_TIMEOUT_MS = 60_000;

type DeadlineKind = "acknowledge" | "cancel" | "finish";

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
  const { createdAtMs, deadlineAtMs, acknowledgedAtMs, cancelRequestedAtMs, uncertainty, uncertainUntilMs } =
    deployment;
  // While the outcome is uncertain, the device gets time to report it before any other deadline counts.
  const isAwaited = uncertainty !== undefined && uncertainty !== "asked";
  const untilMs = isAwaited ? (uncertainUntilMs ?? deadlineAtMs) : deadlineAtMs;
  const deadlines: Deadline[] = [{ kind: "finish", sinceMs: createdAtMs, durationMs: untilMs - createdAtMs }];
  if (isAwaited) return deadlines;
  if (cancelRequestedAtMs !== undefined) {
    deadlines.push({
      kind: "cancel",
      sinceMs: cancelRequestedAtMs,
      durationMs: CANCEL_TIMEOUT_MS * countApps(deployment),
    });
  } else if (acknowledgedAtMs === undefined) {
    deadlines.push({ kind: "acknowledge", sinceMs: createdAtMs, durationMs: ackTimeoutMs });
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
 * Ends a deployment whose deadline has passed, unless the deadline was met or extended meanwhile.
 *
 * @param passed the deadline as it was when its timer was set
 */
export function expire(
  deployment: Deployment,
  passed: Pick<Deadline, "kind" | "durationMs">,
  nowMs: number,
): DeploymentChange | undefined {
  // The acknowledgement timeout is not part of the record, so the duration that was measured is used again.
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

/** Fails a deployment whose device has not reported the outcome in time. */
function failUncertain(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  const { acknowledgedAtMs, cancelRequestedAtMs } = deployment;
  const isCancelled = cancelRequestedAtMs !== undefined;
  if (!isFromBackup(deployment)) {
    if (isCancelled) return fail(deployment, nowMs, "DeploymentCancelled");
    return fail(deployment, nowMs, acknowledgedAtMs === undefined ? "DeviceNotReachable" : "DeploymentTimeout");
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
