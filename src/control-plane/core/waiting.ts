import type { Deployment, DeploymentChange } from "./deployment.ts";
import { appendEvent } from "./event-log.ts";

/*
 * A client may ask to wait for a device that is not connected. The deployment is sent when the device connects, and its time
 * begins then. Until the device has acknowledged it, it goes back to waiting if the device is gone again.
 */

/** Time from the sending until the deployment must have ended, in milliseconds. */
function timeoutMs({ deadlineAtMs, isWaiting, waitUntilMs, ackSinceMs, createdAtMs }: Deployment): number {
  const sinceMs = isWaiting ? waitUntilMs : ackSinceMs;
  return deadlineAtMs - (sinceMs ?? createdAtMs);
}

/**
 * Makes a deployment that the device has not acknowledged wait for it. Returns `undefined` if its client does not wait, or
 * not any longer.
 *
 * @param waiting the event's message without the time, such as "The device is not connected; waiting for it"
 */
export function waitForDevice(deployment: Deployment, nowMs: number, waiting: string): DeploymentChange | undefined {
  const { waitUntilMs } = deployment;
  if (waitUntilMs === undefined || waitUntilMs <= nowMs) return undefined;
  const message = `${waiting} until ${new Date(waitUntilMs).toISOString()}.`;
  const details = { waiting_for: "device", until: Math.floor(waitUntilMs / 1000) };
  const noted = appendEvent(deployment, { status: "Running", message, step: "received", details }, nowMs);
  return { ...noted, fields: { ...noted?.fields, ...waitingFields(deployment, waitUntilMs) } };
}

/** Returns the fields of a deployment that waits now. @param untilMs Unix milliseconds */
export function waitingFields(deployment: Deployment, untilMs: number): Pick<Deployment, "isWaiting" | "deadlineAtMs"> {
  return { isWaiting: true, deadlineAtMs: untilMs + timeoutMs(deployment) };
}

/** As `waitForDevice`, for a deployment that may have been sent. */
export function waitAgainForDevice(
  deployment: Deployment,
  nowMs: number,
  waiting: string,
): DeploymentChange | undefined {
  const change = waitForDevice(deployment, nowMs, waiting);
  const ackSinceMs = deployment.ackSinceMs ?? deployment.createdAtMs;
  return change && { ...change, fields: { ...change.fields, ackSinceMs } };
}

/** Whether it has only waited since the request, so that its device cannot have it. */
export function wasNeverSent({ isWaiting, ackSinceMs }: Deployment): boolean {
  return isWaiting && ackSinceMs === undefined;
}

/** Returns the fields of a deployment that no longer waits for its device; none if it did not wait. */
export function endWait(
  deployment: Deployment,
  nowMs: number,
): Partial<Pick<Deployment, "isWaiting" | "ackSinceMs" | "deadlineAtMs">> {
  if (!deployment.isWaiting) return {};
  return { isWaiting: false, ackSinceMs: nowMs, deadlineAtMs: nowMs + timeoutMs(deployment) };
}

/** Ends the wait of a deployment that its connected device does not hold, and reports it. */
export function endWaitToSend(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  if (!deployment.isWaiting) return undefined;
  const fields = endWait(deployment, nowMs);
  if (deployment.cancelRequestedAtMs !== undefined) return { fields };
  const message = "The device is connected; the deployment is sent.";
  const noted = appendEvent(deployment, { status: "Running", message, step: "received" }, nowMs);
  return { ...noted, fields: { ...noted?.fields, ...fields } };
}
