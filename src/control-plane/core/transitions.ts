import {
  type DeviceEvent,
  type EventContent,
  isFinal,
  progressDetails,
} from "../../protocol/deployments/deployment-event.ts";
import type { DeploymentAction } from "../../protocol/deployments/deployment-action.ts";
import { type ErrorCode, errorEntry } from "../../protocol/errors/errors.ts";
import { connectedIn, laterConnection } from "./connection.ts";
import {
  acknowledgedAtMsOf,
  type Deployment,
  type DeploymentChange,
  isFinished,
  progressOf,
  statusOf,
  withProgress,
} from "./deployment.ts";
import { DEFAULT_DEPLOYMENT_TIMEOUT_MS } from "../../protocol/limits.ts";
import { mustNotCancel, clearUncertainty, OVERDUE_GRACE_MS } from "./outcome-uncertainty.ts";
import { appendEvent } from "./event-log.ts";
import { maskCommand } from "./mask-spec.ts";
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
  update_agent: "Update of the agent received.",
};

/** Returns the content of the first event. */
export function receivedEvent({ command, options }: Pick<Deployment, "command" | "options">): EventContent {
  const message = RECEIVED_MESSAGES[command.action];
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

type FailParameters = [nowMs: number, code: ErrorCode, message?: string, details?: Record<string, unknown>];

/** The same for a deployment of which the device has received nothing: there is nothing to undo. */
export function failUnsent(deployment: Deployment, ...given: FailParameters): DeploymentChange | undefined {
  const change = fail(deployment, ...given);
  return change && settled(change);
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
  const sent = { ...deployment, ...endWait(deployment, nowMs) };
  const progress = progressOf(sent);
  if (sent.state.kind === "ended" || progress.kind !== "sending") return undefined;
  const acknowledged = {
    kind: "acknowledged",
    acknowledgedAtMs: nowMs,
    sendingSinceMs: progress.sendingSinceMs,
  } as const;
  const held = { ...sent, state: withProgress(sent.state, acknowledged) };
  const { state, deadlineAtMs } = { ...held, ...clearUncertainty(held, nowMs) };
  const connection = laterConnection(deployment.connection, connectedIn(epoch));
  return { fields: { state, deadlineAtMs, command: maskCommand(deployment.command), connection } };
}

/** Fails a deployment whose command the device refused. Does not end one that was acknowledged. */
export function refuse(
  deployment: Deployment,
  nowMs: number,
  code: ErrorCode,
  message: string,
): DeploymentChange | undefined {
  if (isFinished(deployment)) return confirmUndone(deployment);
  if (acknowledgedAtMsOf(deployment) !== undefined) return undefined;
  const ended = fail(deployment, nowMs, code, message);
  return ended && settled(ended);
}

/** Records that the device has nothing left of a deployment that has ended. */
export function confirmUndone({ state }: Deployment): DeploymentChange | undefined {
  if (state.kind !== "ended" || state.status !== "Fail" || state.unsettled !== "undo") return undefined;
  return { fields: { state: { ...state, unsettled: undefined } } };
}

/** Returns the change that ends a deployment, with what is open with its device after that. */
export function settled(change: DeploymentChange, unsettled?: "undo"): DeploymentChange {
  const state = change.fields?.state;
  if (state?.kind !== "ended" || state.status !== "Fail") return change;
  return { ...change, fields: { ...change.fields, state: { ...state, unsettled } } };
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
    return isConfirmed ? confirmUndone(deployment) : undefined;
  }
  // A device that has lost its store numbers anew. Of a deployment that has not ended, no final event is stored already.
  if (event.device_seq <= deployment.lastDeviceSeq && !isFinal(event)) return undefined;
  if (event.status === "Success" && deployment.cancelRequestedAtMs !== undefined) return undefined;
  // An event implies that the device has stored the command.
  const acknowledged = acknowledge(deployment, nowMs, epoch)?.fields;
  const cleared = { ...acknowledged, ...clearUncertainty({ ...deployment, ...acknowledged }, nowMs) };
  const held = { ...deployment, ...cleared };
  const appended = appendEvent(held, event, nowMs, nowMs - (event.age_ms ?? 0), maxBytes) ?? {};
  // The device has reported the end, so that there is nothing to tell it.
  const { event: stored, fields } = isFinal(event) ? settled(appended) : appended;
  const lastDeviceSeq = Math.max(event.device_seq, deployment.lastDeviceSeq);
  return {
    ...(stored && { event: stored }),
    fields: { ...cleared, ...fields, ...extendDeadline(held, event, nowMs), lastDeviceSeq },
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
  return statusOf(after) === "Success" || mustNotCancel(after) ? "acknowledge" : "cancel";
}

/** Records a request to cancel. The deployment ends when the device has undone it. */
export function requestCancel(deployment: Deployment, nowMs: number): DeploymentChange | undefined {
  if (isFinished(deployment) || deployment.cancelRequestedAtMs !== undefined) return undefined;
  const noted = appendNote(deployment, nowMs, "Cancellation requested; the device is told to undo the deployment.", {
    cancel: "requested",
  });
  // A device whose outcome is awaited gets no more time for this than others.
  const untilMs = Math.max(deployment.createdAtMs, nowMs) + OVERDUE_GRACE_MS;
  const { state } = deployment;
  const isAwaited = state.kind === "uncertain" && "untilMs" in state;
  const awaited = isAwaited && { state: { ...state, untilMs: Math.min(state.untilMs, untilMs) } };
  return { ...noted, fields: { ...noted?.fields, cancelRequestedAtMs: nowMs, ...awaited } };
}

function stepOf(deployment: Deployment): EventContent["step"] {
  return deployment.lastEvent?.step ?? "received";
}
