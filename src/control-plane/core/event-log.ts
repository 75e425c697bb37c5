import { clipMessage, type DeploymentEvent, type EventContent, isFinal } from "../../protocol/deployment-event.ts";
import type { Change, Deployment } from "./deployment.ts";
import { maskSpec } from "./masked-spec.ts";

/** Most events a deployment keeps: one a second for nearly three hours. Beyond it progress is dropped. */
export const MAX_EVENTS = 10_000;

/** Longest `details` of one event, as JSON, in characters. */
const MAX_DETAILS_LENGTH = 32 * 1024;

/**
 * The change that adds an event: numbered without gaps, never dated before the one it follows, and nothing after a
 * final one. Answers `undefined` when nothing may follow, or when it is progress that no longer fits.
 *
 * @param nowMs time of day, Unix milliseconds
 * @param atMs when it happened, if that was earlier
 */
export function appendEvent(
  deployment: Deployment,
  content: EventContent,
  nowMs: number,
  atMs: number = nowMs,
): Change | undefined {
  if (isFinal(deployment)) return undefined;
  const final = isFinal(content);
  const seq = deployment.lastSeq + 1;
  if (seq > MAX_EVENTS && !final) return undefined;
  const event = numberEvent(deployment, content, seq, atMs);
  if (!final) return { event };
  return {
    event,
    fields: {
      status: content.status,
      code: content.code,
      finishedAtMs: nowMs,
      spec: maskSpec(deployment.spec),
    },
  };
}

function numberEvent(deployment: Deployment, content: EventContent, seq: number, atMs: number): DeploymentEvent {
  const { status, message, step, progress, bytes, code, details } = content;
  return {
    status,
    message: clipMessage(message),
    deployment_id: deployment.id,
    seq,
    timestamp: Math.max(Math.floor(atMs / 1000), deployment.lastEvent?.timestamp ?? 0),
    step,
    ...(progress !== undefined && { progress }),
    ...(bytes && { bytes }),
    ...(code && { code }),
    ...(details && { details: boundDetails(details) }),
  };
}

function boundDetails(details: Record<string, unknown>): Record<string, unknown> {
  const { length } = JSON.stringify(details);
  return length <= MAX_DETAILS_LENGTH ? details : { omitted: `details of ${length} characters are too long` };
}
