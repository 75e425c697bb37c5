import { type Deployment, type DeploymentChange, progressOf, withProgress } from "./deployment.ts";
import { appendEvent } from "./event-log.ts";

/*
 * A client may ask to wait for a device that is not connected. The deployment is sent when the device connects, and its time
 * begins then. Until the device has acknowledged it, it goes back to waiting if the device is gone again.
 */

/** Time from the sending until the deployment must have ended, in milliseconds. */
function timeoutMs(deployment: Deployment): number {
  const { deadlineAtMs, waitUntilMs, createdAtMs } = deployment;
  const progress = progressOf(deployment);
  const sinceMs = progress.kind === "waiting" ? waitUntilMs : progress.sendingSinceMs;
  return deadlineAtMs - (sinceMs ?? createdAtMs);
}

/**
 * Makes a deployment that was never sent wait for the device. Returns `undefined` if its client does not wait, or not any
 * longer.
 *
 * @param waiting the event's message without the time, such as "The device is not connected; waiting for it"
 */
export function waitForDevice(deployment: Deployment, nowMs: number, waiting: string): DeploymentChange | undefined {
  return wait(deployment, nowMs, waiting, undefined);
}

/** As `waitForDevice`, for a deployment that may have been sent, and that the device has not acknowledged. */
export function waitAgainForDevice(
  deployment: Deployment,
  nowMs: number,
  waiting: string,
): DeploymentChange | undefined {
  return wait(deployment, nowMs, waiting, progressOf(deployment).sendingSinceMs ?? deployment.createdAtMs);
}

function wait(
  deployment: Deployment,
  nowMs: number,
  waiting: string,
  sendingSinceMs: number | undefined,
): DeploymentChange | undefined {
  const { waitUntilMs } = deployment;
  if (waitUntilMs === undefined || waitUntilMs <= nowMs) return undefined;
  const message = `${waiting} until ${new Date(waitUntilMs).toISOString()}.`;
  const details = { waiting_for: "device", until: Math.floor(waitUntilMs / 1000) };
  const noted = appendEvent(deployment, { status: "Running", message, step: "received", details }, nowMs);
  return { ...noted, fields: { ...noted?.fields, ...waitingFields(deployment, waitUntilMs, sendingSinceMs) } };
}

type WaitFields = Partial<Pick<Deployment, "state" | "deadlineAtMs">>;

/** Returns the fields of a deployment that waits now. @param untilMs Unix milliseconds */
export function waitingFields(deployment: Deployment, untilMs: number, sendingSinceMs?: number): WaitFields {
  const { state } = deployment;
  if (state.kind === "ended") return {};
  return {
    state: withProgress(state, { kind: "waiting", sendingSinceMs }),
    deadlineAtMs: untilMs + timeoutMs(deployment),
  };
}

/** Returns the fields of a deployment that no longer waits for its device; none if it did not wait. */
export function endWait(deployment: Deployment, nowMs: number): WaitFields {
  const { state } = deployment;
  if (state.kind === "ended" || progressOf(deployment).kind !== "waiting") return {};
  return {
    state: withProgress(state, { kind: "sending", sendingSinceMs: nowMs }),
    deadlineAtMs: nowMs + timeoutMs(deployment),
  };
}

/** Ends the wait of a deployment that its connected device does not hold, and reports it. */
export function endWaitToSend(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  if (progressOf(deployment).kind !== "waiting") return undefined;
  const fields = endWait(deployment, nowMs);
  if (deployment.cancelRequestedAtMs !== undefined) return { fields };
  const message = "The device is connected; the deployment is sent.";
  const noted = appendEvent(deployment, { status: "Running", message, step: "received" }, nowMs);
  return { ...noted, fields: { ...noted?.fields, ...fields } };
}
