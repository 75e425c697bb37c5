import {
  truncateMessage,
  type DeploymentEvent,
  type EventContent,
  isFinal,
} from "../../protocol/deployments/deployment-event.ts";
import { utf8ByteLength } from "../../protocol/values/utf8-byte-length.ts";
import { mustUndo } from "./delivery.ts";
import {
  type Deployment,
  type DeploymentChange,
  type Ended,
  isFinished,
  progressOf,
  uncertaintyOf,
} from "./deployment.ts";
import { maskCommand } from "./mask-spec.ts";

/** Maximum number of events of a deployment: one per second for nearly three hours. Further progress is left out. */
export const MAX_EVENTS = 10_000;

/** Size of a deployment's events above which progress is left out: more than `MAX_EVENTS` of the usual size. */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** The same for an account that has exceeded its storage quota; still enough for an ordinary deployment. */
export const MAX_EVENT_BYTES_OVER_QUOTA = 64 * 1024;

/** Maximum size of one event's `details` as JSON in UTF-8, in bytes. */
export const MAX_DETAILS_BYTES = 32 * 1024;

/**
 * Returns the change that adds an event, or `undefined` after the final event. Events are numbered without gaps and never
 * dated before the previous one. Progress beyond the limits is left out and counted: an event says so the first time, and
 * the final event, which is always added, has the count.
 *
 * @param nowMs time of day, Unix milliseconds
 * @param atMs time of the event, if it was earlier
 * @param maxBytes size of the events above which progress is left out
 */
export function appendEvent(
  deployment: Deployment,
  content: EventContent,
  nowMs: number,
  atMs: number = nowMs,
  maxBytes: number = MAX_EVENT_BYTES,
): DeploymentChange | undefined {
  if (isFinished(deployment)) return undefined;
  if (!isFinal(content)) {
    const isFull = deployment.lastSeq + 1 >= MAX_EVENTS || deployment.eventBytes >= maxBytes;
    return isFull ? omitProgress(deployment, content, atMs) : { event: numberEvent(deployment, content, atMs) };
  }
  return {
    event: withOmittedCount(numberEvent(deployment, content, atMs), deployment.omittedEvents),
    fields: { state: endedState(deployment, content, nowMs), command: maskCommand(deployment.command) },
  };
}

/** The uncertainty of a deployment that fails without the device's report is kept. */
function endedState(deployment: Deployment, { status, code }: EventContent, finishedAtMs: number): Ended {
  const progress = progressOf(deployment);
  if (status === "Success") return { kind: "ended", status, finishedAtMs, progress };
  const unsettled = uncertaintyOf(deployment) ?? (mustUndo(code, progress) ? "undo" : undefined);
  return { kind: "ended", status: "Fail", code, finishedAtMs, progress, unsettled };
}

function omitProgress(deployment: Deployment, { step }: EventContent, atMs: number): DeploymentChange {
  const fields = { omittedEvents: deployment.omittedEvents + 1 };
  if (deployment.omittedEvents > 0 || deployment.lastSeq >= MAX_EVENTS) return { fields };
  const message = "Further progress is left out: the limit for events is reached. The deployment continues.";
  const content = { status: "Running", message, step, details: { events_left_out: "from here" } } as const;
  return { event: numberEvent(deployment, content, atMs), fields };
}

function withOmittedCount(event: DeploymentEvent, omittedEvents: number): DeploymentEvent {
  return omittedEvents === 0 ? event : { ...event, details: { ...event.details, events_left_out: omittedEvents } };
}

function numberEvent(deployment: Deployment, content: EventContent, atMs: number): DeploymentEvent {
  const { status, message, step, progress, bytes, code, app, details } = content;
  return {
    status,
    message: truncateMessage(message),
    deployment_id: deployment.id,
    seq: deployment.lastSeq + 1,
    timestamp: Math.max(Math.floor(atMs / 1000), deployment.lastEvent?.timestamp ?? 0),
    step,
    ...(progress !== undefined && { progress }),
    ...(bytes && { bytes }),
    ...(code && { code }),
    ...(app !== undefined && { app }),
    ...(details && { details: boundDetails(details) }),
  };
}

function boundDetails(details: Record<string, unknown>): Record<string, unknown> {
  const bytes = utf8ByteLength(JSON.stringify(details));
  return bytes <= MAX_DETAILS_BYTES ? details : { omitted: `details of ${bytes} bytes are too long` };
}
