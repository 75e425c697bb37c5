import { DEFAULT_DEPLOYMENT_TIMEOUT_MS } from "../../protocol/limits.ts";
import { type Deployment, isFinished, uncertaintyOf } from "./deployment.ts";

/** Time for devices to reconnect before deployments that became overdue while the service was down are ended. */
export const OVERDUE_GRACE_MS = 60_000;

/** Time for a device to report the outcome of a deployment after the service was restored from a backup. */
export const RESTORED_GRACE_MS = 7 * 24 * 3_600_000;

/** Whether the record is a copy from a backup: the service does not know what happened to the deployment since. */
export function isFromBackup(deployment: Pick<Deployment, "state">): boolean {
  const uncertainty = uncertaintyOf(deployment);
  return uncertainty === "restored" || uncertainty === "backup";
}

/** Whether it ended on a record from a backup without the device's report: then nothing is undone on the device. */
export function mustNotCancel(deployment: Pick<Deployment, "state">): boolean {
  return isFinished(deployment) && isFromBackup(deployment);
}

/** Whether it ended without the device's report, but not on a record from a backup: the device is queried later. */
export function hasEndedUncertain(deployment: Pick<Deployment, "state">): boolean {
  return isFinished(deployment) && uncertaintyOf(deployment) !== undefined && !isFromBackup(deployment);
}

/**
 * Returns the fields for a deployment that its device has confirmed. The time spent in uncertainty does not count: the
 * deployment keeps its deadline, or gets a later one so that the device can finish.
 */
export function clearUncertainty(
  { state, deadlineAtMs }: Deployment,
  nowMs: number,
): Partial<Pick<Deployment, "state" | "deadlineAtMs">> {
  if (state.kind !== "uncertain") return {};
  if (state.uncertainty === "asked") return { state: state.progress };
  const graceMs = state.uncertainty === "overdue" ? OVERDUE_GRACE_MS : DEFAULT_DEPLOYMENT_TIMEOUT_MS;
  return { state: state.progress, deadlineAtMs: Math.max(deadlineAtMs, nowMs + graceMs) };
}
