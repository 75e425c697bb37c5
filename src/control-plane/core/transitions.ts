import { type DeviceEvent, type EventContent, progressDetails } from "../../protocol/deployment-event.ts";
import type { DeploymentAction } from "../../protocol/deployment-action.ts";
import { type ErrorCode, errorEntry } from "../../protocol/errors.ts";
import { connectedIn } from "./connection.ts";
import { type DeploymentChange, type Deployment, isFinished } from "./deployment.ts";
import { DEFAULT_DEPLOYMENT_TIMEOUT_MS } from "../../protocol/limits.ts";
import { mustNotCancel, clearUncertainty, OVERDUE_GRACE_MS } from "./outcome-uncertainty.ts";
import { appendEvent } from "./event-log.ts";
import { maskSpec } from "./mask-spec.ts";

const DAY_MS = 24 * 3_600_000;

/** The longest a device may wait by itself: for the next month, and a day. */
const MAX_WAIT_MS = 32 * DAY_MS;

/** The longest a deployment may take with all its waiting: what it waits for by itself, and three days for the rest. */
export const MAX_DEPLOYMENT_DURATION_MS = 35 * DAY_MS;

const RECEIVED_MESSAGES: Readonly<Record<DeploymentAction, string>> = {
  deploy: "Deployment received.",
  update: "Update received.",
  remove: "Removal received.",
  stop: "Request to stop the app received.",
  start: "Request to start the app received.",
  restart: "Request to restart the app received.",
};

/** What the first event says. */
export function receivedEvent({ action, options }: Pick<Deployment, "action" | "options">): EventContent {
  const message = RECEIVED_MESSAGES[action];
  const remark = options.dry_run ? " Dry run: nothing will be changed." : "";
  return { status: "Running", message: message + remark, step: "received" };
}

/** Ends the deployment with an error of the control plane's own; nothing if it has ended already. */
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

/** Adds a remark of the control plane's own about how the deployment is going. */
export function appendNote(
  deployment: Deployment,
  nowMs: number,
  message: string,
  details: Record<string, unknown>,
): DeploymentChange | undefined {
  return appendEvent(deployment, { status: "Running", message, step: stepOf(deployment), details }, nowMs);
}

/**
 * The device holds the command.
 *
 * @param epoch number of the session in which the device said so
 */
export function acknowledge(deployment: Deployment, nowMs: number, epoch: number): DeploymentChange | undefined {
  if (isFinished(deployment) || deployment.acknowledgedAtMs !== undefined) return undefined;
  const connection = Math.max(deployment.connection, connectedIn(epoch));
  const fields = { acknowledgedAtMs: nowMs, spec: maskSpec(deployment.spec), connection };
  return { fields: { ...fields, ...clearUncertainty(deployment, nowMs) } };
}

/** The device could not take it. What it once took it can only end with an event. */
export function refuse(
  deployment: Deployment,
  nowMs: number,
  code: ErrorCode,
  message: string,
): DeploymentChange | undefined {
  if (deployment.acknowledgedAtMs !== undefined) return undefined;
  const ended = fail(deployment, nowMs, code, message);
  return ended && { ...ended, fields: { ...ended.fields, uncertainty: undefined, uncertainUntilMs: undefined } };
}

/**
 * The device says how it goes, in the session of this number. Events already held change nothing, nor does anything
 * after the end.
 *
 * @param maxBytes most bytes the events may take before progress is left out; as `appendEvent` unless given
 */
export function applyDeviceEvent(
  deployment: Deployment,
  event: DeviceEvent,
  nowMs: number,
  epoch: number,
  maxBytes?: number,
): DeploymentChange | undefined {
  if (isFinished(deployment) || event.device_seq <= deployment.lastDeviceSeq) return undefined;
  if (event.status === "Success" && deployment.cancelRequestedAtMs !== undefined) return undefined;
  const appended = appendEvent(deployment, event, nowMs, nowMs - (event.age_ms ?? 0), maxBytes);
  // It holds what it reports on.
  const certain = clearUncertainty(deployment, nowMs);
  return {
    ...appended,
    fields: {
      ...acknowledge(deployment, nowMs, epoch)?.fields,
      ...appended?.fields,
      ...certain,
      ...extendDeadline({ ...deployment, ...certain }, event, nowMs),
      lastDeviceSeq: event.device_seq,
    },
  };
}

/**
 * A device that waits for its hours or its data budget says for how long, by its own clock. Waiting is as asked for, so
 * it does not count: after it the deployment has the usual time again, within the longest it may take in all.
 */
function extendDeadline(deployment: Deployment, event: DeviceEvent, nowMs: number): Partial<Deployment> {
  const { waiting_s: waitingS } = progressDetails(event);
  if (event.status !== "Running" || waitingS === undefined) return {};
  const waitingMs = Math.min(waitingS * 1000, MAX_WAIT_MS);
  const wanted = nowMs - (event.age_ms ?? 0) + waitingMs + DEFAULT_DEPLOYMENT_TIMEOUT_MS;
  const until = Math.min(wanted, deployment.createdAtMs + MAX_DEPLOYMENT_DURATION_MS);
  return until > deployment.deadlineAtMs ? { deadlineAtMs: Math.ceil(until) } : {};
}

/** What the device is to be told after it sent an event. */
export type EventReply = "acknowledge" | "cancel";

/**
 * A device takes its Success for provisional until it is acknowledged, and `cancel` instead makes it undo what it did.
 *
 * @param after the deployment once the event has been taken
 */
export function replyToEvent(after: Deployment, event: DeviceEvent): EventReply {
  if (event.status !== "Success") return "acknowledge";
  return after.status === "Success" || mustNotCancel(after) ? "acknowledge" : "cancel";
}

/** Somebody asks for the deployment to be cancelled. The device ends it, having undone what it did. */
export function requestCancel(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  if (isFinished(deployment) || deployment.cancelRequestedAtMs !== undefined) return undefined;
  const said = appendNote(deployment, nowMs, "Cancelling was asked for; the device is told to undo the deployment.", {
    cancel: "requested",
  });
  // A device that is waited for has no longer for this than any other.
  const untilMs = Math.max(deployment.createdAtMs, nowMs) + OVERDUE_GRACE_MS;
  const uncertainUntilMs = deployment.uncertainUntilMs && Math.min(deployment.uncertainUntilMs, untilMs);
  return { ...said, fields: { ...said?.fields, cancelRequestedAtMs: nowMs, uncertainUntilMs } };
}

function stepOf(deployment: Deployment): EventContent["step"] {
  return deployment.lastEvent?.step ?? "received";
}
