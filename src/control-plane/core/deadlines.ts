import { type Change, type Deployment, isFinished } from "./deployment.ts";
import { fail } from "./transitions.ts";

/** How long a device may take to undo a cancelled deployment before it is reported cancelled without its word. */
export const CANCEL_TIMEOUT_MS = 60_000;

type DeadlineKind = "acknowledge" | "cancel" | "finish";

/** Until when something has to happen to a deployment, Unix milliseconds, and what. */
export interface Deadline {
  readonly atMs: number;
  readonly kind: DeadlineKind;
}

/** The next thing that has to happen; `undefined` for a finished deployment. */
export function nextDeadline(deployment: Deployment, ackTimeoutMs: number): Deadline | undefined {
  if (isFinished(deployment)) return undefined;
  const { createdAtMs, deadlineAtMs, acknowledgedAtMs, cancelRequestedAtMs } = deployment;
  const deadlines: Deadline[] = [{ atMs: deadlineAtMs, kind: "finish" }];
  if (cancelRequestedAtMs !== undefined) {
    deadlines.push({ atMs: cancelRequestedAtMs + CANCEL_TIMEOUT_MS, kind: "cancel" });
  } else if (acknowledgedAtMs === undefined) {
    deadlines.push({ atMs: createdAtMs + ackTimeoutMs, kind: "acknowledge" });
  }
  return deadlines.reduce((first, next) => (next.atMs < first.atMs ? next : first));
}

/** Ends a deployment whose deadline has passed, unless what it was for has happened meanwhile. */
export function expire(deployment: Deployment, kind: DeadlineKind, nowMs: number): Change | undefined {
  switch (kind) {
    case "acknowledge":
      if (deployment.acknowledgedAtMs !== undefined || deployment.cancelRequestedAtMs !== undefined) return undefined;
      return fail(deployment, nowMs, "DeviceNotReachable");
    case "cancel":
      return fail(
        deployment,
        nowMs,
        "DeploymentCancelled",
        "The deployment was cancelled. The device has not confirmed it yet; it undoes the deployment as soon as it can.",
      );
    case "finish":
      return fail(deployment, nowMs, "DeploymentTimeout");
  }
}
