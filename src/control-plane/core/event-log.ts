import { truncateMessage, type DeploymentEvent, type EventContent, isFinal } from "../../protocol/deployment-event.ts";
import { utf8ByteLength } from "../../protocol/utf8-byte-length.ts";
import type { DeploymentChange, Deployment } from "./deployment.ts";
import { maskSpec } from "./mask-spec.ts";

/** Most events a deployment keeps: one a second for nearly three hours. Beyond it progress is left out. */
export const MAX_EVENTS = 10_000;

/** Most bytes the events of a deployment take before progress is left out: more than `MAX_EVENTS` of the usual size. */
export const MAX_EVENT_BYTES = 8 * 1024 * 1024;

/** The same where its account has used up what it may store: an ordinary deployment still has room for all of them. */
export const MAX_EVENT_BYTES_OVER_QUOTA = 64 * 1024;

/** Longest `details` of one event, as JSON in UTF-8, in bytes. */
export const MAX_DETAILS_BYTES = 32 * 1024;

/**
 * The change that adds an event: numbered without gaps, never dated before the one it follows, and nothing after a
 * final one. Returns `undefined` when nothing may follow. Progress that no longer fits is left out and counted: the
 * first time an event says so, and the final event, for which there is always room, has the count.
 *
 * @param nowMs time of day, Unix milliseconds
 * @param atMs when it happened, if that was earlier
 * @param maxBytes most bytes the events may take before progress is left out
 */
export function appendEvent(
  deployment: Deployment,
  content: EventContent,
  nowMs: number,
  atMs: number = nowMs,
  maxBytes: number = MAX_EVENT_BYTES,
): DeploymentChange | undefined {
  if (isFinal(deployment)) return undefined;
  if (!isFinal(content)) {
    const isFull = deployment.lastSeq + 1 >= MAX_EVENTS || deployment.eventBytes >= maxBytes;
    return isFull ? omitProgress(deployment, content, atMs) : { event: numberEvent(deployment, content, atMs) };
  }
  return {
    event: withOmittedCount(numberEvent(deployment, content, atMs), deployment.omittedEvents),
    fields: {
      status: content.status,
      code: content.code,
      finishedAtMs: nowMs,
      spec: maskSpec(deployment.spec),
    },
  };
}

function omitProgress(deployment: Deployment, { step }: EventContent, atMs: number): DeploymentChange {
  const fields = { omittedEvents: deployment.omittedEvents + 1 };
  if (deployment.omittedEvents > 0 || deployment.lastSeq >= MAX_EVENTS) return { fields };
  const message = "Progress is left out from here on: there is no room for more. The deployment goes on to its end.";
  const content = { status: "Running", message, step, details: { events_left_out: "from here" } } as const;
  return { event: numberEvent(deployment, content, atMs), fields };
}

function withOmittedCount(event: DeploymentEvent, omittedEvents: number): DeploymentEvent {
  return omittedEvents === 0 ? event : { ...event, details: { ...event.details, events_left_out: omittedEvents } };
}

function numberEvent(deployment: Deployment, content: EventContent, atMs: number): DeploymentEvent {
  const { status, message, step, progress, bytes, code, details } = content;
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
    ...(details && { details: boundDetails(details) }),
  };
}

function boundDetails(details: Record<string, unknown>): Record<string, unknown> {
  const bytes = utf8ByteLength(JSON.stringify(details));
  return bytes <= MAX_DETAILS_BYTES ? details : { omitted: `details of ${bytes} bytes are too long` };
}
