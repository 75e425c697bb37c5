import { DEFAULT_DEPLOYMENT_TIMEOUT_MS } from "../../protocol/limits.ts";
import { type Deployment, isFinished } from "./deployment.ts";

/** How long devices have to come back before what became overdue while the service was down is ended. */
export const OVERDUE_GRACE_MS = 60_000;

/** How long a device has to say what became of a deployment after the service was restored from a backup. */
export const RESTORED_GRACE_MS = 7 * 24 * 3_600_000;

type UncertaintyFields = Partial<Pick<Deployment, "uncertainty" | "uncertainUntilMs" | "deadlineAtMs">>;

/** The copy is from a backup: it tells nothing of what the device was asked to do, or did, since. */
export function isFromBackup({ uncertainty }: Pick<Deployment, "uncertainty">): boolean {
  return uncertainty === "restored" || uncertainty === "backup";
}

/** Ended without its device's word, on a record from a backup: whatever the device made of it stays. */
export function mustNotCancel(deployment: Pick<Deployment, "uncertainty" | "status">): boolean {
  return isFinished(deployment) && isFromBackup(deployment);
}

/** Ended without its device's word, but not on a record from a backup: the device is asked when it is back. */
export function hasEndedUncertain(deployment: Pick<Deployment, "uncertainty" | "status">): boolean {
  return isFinished(deployment) && deployment.uncertainty !== undefined && !isFromBackup(deployment);
}

/**
 * Why it is waited for is no part of how long the deployment may take: the device holds it, and it goes on within the time
 * it had, or so much that the device can end it.
 */
export function clearUncertainty({ uncertainty, deadlineAtMs }: Deployment, nowMs: number): UncertaintyFields {
  if (uncertainty === undefined || uncertainty === "asked") return { uncertainty: undefined };
  const graceMs = uncertainty === "overdue" ? OVERDUE_GRACE_MS : DEFAULT_DEPLOYMENT_TIMEOUT_MS;
  return { uncertainty: undefined, uncertainUntilMs: undefined, deadlineAtMs: Math.max(deadlineAtMs, nowMs + graceMs) };
}
