import { type DeviceEvent, type EventContent, isFinal, progressDetails } from "../../protocol/deployment-event.ts";
import type { DeploymentAction } from "../../protocol/deployment-action.ts";
import { type ErrorCode, errorEntry } from "../../protocol/errors.ts";
import { connectedIn, laterConnection } from "./connection.ts";
import { type DeploymentChange, type Deployment, isFinished } from "./deployment.ts";
import { DEFAULT_DEPLOYMENT_TIMEOUT_MS } from "../../protocol/limits.ts";
import { mustNotCancel, clearUncertainty, OVERDUE_GRACE_MS } from "./outcome-uncertainty.ts";
import { appendEvent } from "./event-log.ts";
import { maskSpec } from "./mask-spec.ts";
import { endWait } from "./waiting.ts";

const DAY_MS = 24 * 3_600_000;

/** Longest wait of a device that counts: until the next month, and a day. */
const MAX_WAIT_MS = 32 * DAY_MS;

/** Maximum duration of a deployment including waits: `MAX_WAIT_MS`, and three days. */
export const MAX_DEPLOYMENT_DURATION_MS = 35 * DAY_MS;

const RECEIVED_MESSAGES: Readonly<Record<DeploymentAction, string>> = {
  deploy: "Deployment received.",
  update: "Update received.",
  remove: "Removal received.",
  stop: "Request to stop the app received.",
  start: "Request to start the app received.",
  restart: "Request to restart the app received.",
  apply: "Request to apply a group of apps received.",
};

/** Returns the content of the first event. */
export function receivedEvent({ action, options }: Pick<Deployment, "action" | "options">): EventContent {
  const message = RECEIVED_MESSAGES[action];
  const suffix = options.dry_run ? " Dry run: nothing will be changed." : "";
  return { status: "Running", message: message + suffix, step: "received" };
}

/** Fails the deployment with an error of the control plane. Returns `undefined` if it has ended already. */
export function fail(
  deployment: Deployment,
  nowMs: number,
  code: ErrorCode,
  message: string = errorEntry(code).message,
  details?: Record<string, unknown>,
): DeploymentChange | undefined {
  const content = { status: "Fail" as const, message, step: stepOf(deployment), code, ...(details && { details }) };
  return appendEvent(deployment, content, nowMs);
}

/** The same for a deployment of which the device has received nothing: there is nothing to undo. */
export function failUnsent(...given: Parameters<typeof fail>): DeploymentChange | undefined {
  const change = fail(...given);
  return change && { ...change, fields: { ...change.fields, delivery: undefined } };
}

/** Adds an event of the control plane that does not end the deployment. */
export function appendNote(
  deployment: Deployment,
  nowMs: number,
  message: string,
  details: Record<string, unknown>,
): DeploymentChange | undefined {
  return appendEvent(deployment, { status: "Running", message, step: stepOf(deployment), details }, nowMs);
}

/**
 * Records that the device has stored the command.
 *
 * @param epoch number of the session in which the device acknowledged it
 */
export function acknowledge(deployment: Deployment, nowMs: number, epoch: number): DeploymentChange | undefined {
  if (isFinished(deployment) || deployment.acknowledgedAtMs !== undefined) return undefined;
  const connection = laterConnection(deployment.connection, connectedIn(epoch));
  const waited = endWait(deployment, nowMs);
  const fields = { acknowledgedAtMs: nowMs, spec: maskSpec(deployment.spec), connection, ...waited };
  return { fields: { ...fields, ...clearUncertainty({ ...deployment, ...waited }, nowMs) } };
}

/** Fails a deployment whose command the device refused. Does not end one that was acknowledged. */
export function refuse(
  deployment: Deployment,
  nowMs: number,
  code: ErrorCode,
  message: string,
): DeploymentChange | undefined {
  if (isFinished(deployment)) return withoutDelivery(deployment);
  if (deployment.acknowledgedAtMs !== undefined) return undefined;
  const ended = fail(deployment, nowMs, code, message);
  const cleared = { uncertainty: undefined, uncertainUntilMs: undefined, delivery: undefined };
  return ended && { ...ended, fields: { ...ended.fields, ...cleared } };
}

/** Records that the device has nothing left of a deployment that has ended. */
export function withoutDelivery({ delivery }: Deployment): DeploymentChange | undefined {
  return delivery === undefined ? undefined : { fields: { delivery: undefined } };
}

/**
 * Applies an event that the device sent in this session. No event is added if it is stored already or the deployment has
 * ended.
 *
 * @param maxBytes size of the events above which progress is left out; default as in `appendEvent`
 */
export function applyDeviceEvent(
  deployment: Deployment,
  event: DeviceEvent,
  nowMs: number,
  epoch: number,
  maxBytes?: number,
): DeploymentChange | undefined {
  if (isFinished(deployment)) {
    const isConfirmed = isFinal(event) && replyToEvent(deployment, event) === "acknowledge";
    return isConfirmed ? withoutDelivery(deployment) : undefined;
  }
  if (event.device_seq <= deployment.lastDeviceSeq) return undefined;
  if (event.status === "Success" && deployment.cancelRequestedAtMs !== undefined) return undefined;
  const appended = appendEvent(deployment, event, nowMs, nowMs - (event.age_ms ?? 0), maxBytes);
  // An event implies that the device has stored the command.
  const acknowledged = acknowledge(deployment, nowMs, epoch)?.fields;
  const held = { ...deployment, ...acknowledged };
  const cleared = clearUncertainty(held, nowMs);
  return {
    ...appended,
    fields: {
      ...acknowledged,
      ...appended?.fields,
      ...cleared,
      ...extendDeadline({ ...held, ...cleared }, event, nowMs),
      // The device has reported the end, so that there is nothing to tell it.
      ...(isFinal(event) && { delivery: undefined }),
      lastDeviceSeq: event.device_seq,
    },
  };
}

/**
 * A device that waits for its download window or data budget reports the length of the wait, by its own clock. The wait
 * does not count: after it the deployment has the usual time again, up to `MAX_DEPLOYMENT_DURATION_MS`.
 */
function extendDeadline(deployment: Deployment, event: DeviceEvent, nowMs: number): Partial<Deployment> {
  const { waiting_s: waitingS } = progressDetails(event);
  if (event.status !== "Running" || waitingS === undefined) return {};
  const waitingMs = Math.min(waitingS * 1000, MAX_WAIT_MS);
  const wanted = nowMs - (event.age_ms ?? 0) + waitingMs + DEFAULT_DEPLOYMENT_TIMEOUT_MS;
  const until = Math.min(wanted, deployment.createdAtMs + MAX_DEPLOYMENT_DURATION_MS);
  return until > deployment.deadlineAtMs ? { deadlineAtMs: Math.ceil(until) } : {};
}

/** The reply to an event. */
export type EventReply = "acknowledge" | "cancel";

/**
 * Decides on the reply to an event. A `Success` is provisional until it is acknowledged; `cancel` instead makes the device
 * undo the deployment.
 *
 * @param after the deployment after the event was applied
 */
export function replyToEvent(after: Deployment, event: DeviceEvent): EventReply {
  if (event.status !== "Success") return "acknowledge";
  return after.status === "Success" || mustNotCancel(after) ? "acknowledge" : "cancel";
}

/** Records a request to cancel. The deployment ends when the device has undone it. */
export function requestCancel(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  if (isFinished(deployment) || deployment.cancelRequestedAtMs !== undefined) return undefined;
  const noted = appendNote(deployment, nowMs, "Cancellation requested; the device is told to undo the deployment.", {
    cancel: "requested",
  });
  // A device whose outcome is awaited gets no more time for this than others.
  const untilMs = Math.max(deployment.createdAtMs, nowMs) + OVERDUE_GRACE_MS;
  const uncertainUntilMs = deployment.uncertainUntilMs && Math.min(deployment.uncertainUntilMs, untilMs);
  return { ...noted, fields: { ...noted?.fields, cancelRequestedAtMs: nowMs, uncertainUntilMs } };
}

function stepOf(deployment: Deployment): EventContent["step"] {
  return deployment.lastEvent?.step ?? "received";
}
