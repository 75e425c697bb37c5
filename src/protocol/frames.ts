import { z } from "zod";
import { reportDeltaSchema, reportHashSchema } from "./app-report.ts";
import { deployOptionsSchema } from "./deploy-request.ts";
import { appActionSchema } from "./deployment-action.ts";
import { deviceEventSchema, errorCodeSchema } from "./deployment-event.ts";
import { MAX_MESSAGE_LENGTH } from "./limits.ts";
import { isNestedTooDeeply } from "./nesting.ts";
import { sanitizedText, sanitizedLine } from "./sanitized-text.ts";

/*
 * Frames are JSON objects in WebSocket text messages, told apart by `type`. Unknown fields are dropped and unknown
 * types ignored, so that either side may be the newer one.
 */

const deploymentId = z.string().min(1).max(64);
const queryId = z.string().min(1).max(64);

/** First frame of the agent, and the first of the session. */
const hello = z.object({
  type: z.literal("hello"),
  /** Highest protocol version the agent speaks. */
  protocol: z.int().min(1),
  agent_version: sanitizedLine(64),
  /** Deployments whose end the control plane has not acknowledged yet: still going on, or final but unacknowledged. */
  deployments: z.array(z.object({ deployment_id: deploymentId })).max(1000),
});

/** The agent holds the command on disk: from here on it ends in exactly one final event. */
const ack = z.object({ type: z.literal("ack"), deployment_id: deploymentId });

/** The agent cannot take the command: it holds nothing of it, and nothing of it will run. */
const refuse = z.object({
  type: z.literal("refuse"),
  deployment_id: deploymentId,
  code: errorCodeSchema.catch("Internal"),
  message: sanitizedText(MAX_MESSAGE_LENGTH),
});

const event = z.object({ type: z.literal("event"), deployment_id: deploymentId, event: deviceEventSchema });

/** How the device and its apps are, as differences. Sent when something changed and the control plane has not got it. */
const report = z.object({ type: z.literal("report"), ...reportDeltaSchema.shape });

/** One answer to a query; `body` is checked by the query's kind. */
const answer = z.object({ type: z.literal("answer"), query_id: queryId, body: z.unknown() });

/** No more answers follow. With `code` the query could not be answered, or not to its end. */
const queryEnd = z.object({
  type: z.literal("query_end"),
  query_id: queryId,
  code: errorCodeSchema.optional().catch("Internal"),
  message: sanitizedText(MAX_MESSAGE_LENGTH).optional(),
});

/** Answer to `hello`: the session stands, commands may follow. */
const welcome = z.object({
  type: z.literal("welcome"),
  /** Version both sides speak from here on. */
  protocol: z.int().min(1),
  session_id: z.string().max(64),
  /** Who the control plane takes the device for. */
  asset: z.object({ uuid: z.string(), serial_number: z.string(), name: z.string() }),
  /** Hash of the device's report that the control plane holds. */
  report_hash: reportHashSchema.optional(),
});

/** `spec` is checked by the device itself, with errors of its own, so the frame lets anything pass. */
const deploy = z.object({
  type: z.literal("deploy"),
  deployment_id: deploymentId,
  spec: z.unknown(),
  options: deployOptionsSchema.optional(),
});

/** Something is to be done to an app that is there. Acknowledged, reported and cancelled like `deploy`. */
const command = z.object({
  type: z.literal("command"),
  deployment_id: deploymentId,
  action: appActionSchema,
  app: z.string().max(512),
  /** For an update: what is to change. Checked by the device itself. */
  spec: z.unknown().optional(),
  options: deployOptionsSchema.optional(),
});

/** A question to the device, of a kind of `QUERIES`; `params` are checked by that. A kind not known is ended with a code. */
const query = z.object({
  type: z.literal("query"),
  query_id: queryId,
  what: z.string().max(64),
  params: z.unknown().optional(),
});

/** Nobody waits for answers to this query any more. */
const queryCancel = z.object({ type: z.literal("query_cancel"), query_id: queryId });

/**
 * The deployment is not wanted any more, or was already reported as failed: whatever of it runs is undone, also when
 * the device had finished it.
 */
const cancel = z.object({
  type: z.literal("cancel"),
  deployment_id: deploymentId,
  reason: z.enum(["timeout", "not_reachable", "requested", "unknown"]).catch("unknown"),
});

/** The control plane holds all events of the deployment up to `device_seq`. */
const eventAck = z.object({ type: z.literal("event_ack"), deployment_id: deploymentId, device_seq: z.int().min(1) });

/** The control plane goes away on purpose; come back after about this long. */
const goodbye = z.object({
  type: z.literal("goodbye"),
  reason: z.string().max(200),
  retry_after_s: z.number().min(0).max(3600),
});

export const agentFrameSchema = z.discriminatedUnion("type", [hello, ack, refuse, event, report, answer, queryEnd]);
export type AgentFrame = z.output<typeof agentFrameSchema>;

export const controlFrameSchema = z.discriminatedUnion("type", [
  welcome,
  deploy,
  command,
  cancel,
  eventAck,
  query,
  queryCancel,
  goodbye,
]);
export type ControlFrame = z.output<typeof controlFrameSchema>;

/** Why a session was closed (WebSocket close codes; 4000-4999 are for applications, RFC 6455 section 7.4.2). */
export const CLOSE_CODES = {
  goingAway: 1001,
  tooBig: 1009,
  internal: 1011,
  restart: 1012,
  badFrame: 4400,
  unauthorized: 4401,
  helloTimeout: 4408,
  replaced: 4409,
  unsupportedProtocol: 4426,
} as const;

export type DecodedFrame<F> =
  | { readonly kind: "frame"; readonly frame: F }
  /** A type this side does not know: from a newer peer, to be ignored. */
  | { readonly kind: "unknown"; readonly type: string }
  /** Not a frame of the protocol at all. `reason` repeats nothing of the content. */
  | { readonly kind: "bad"; readonly reason: string };

/** Reads one text message. Never throws. */
function decodeFrame<F>(schema: z.ZodType<F>, known: ReadonlySet<string>, text: string): DecodedFrame<F> {
  if (isNestedTooDeeply(text)) return { kind: "bad", reason: "nested too deeply" };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { kind: "bad", reason: "not JSON" };
  }
  const type = typeof value === "object" && value !== null ? (value as { type?: unknown }).type : undefined;
  if (typeof type !== "string") return { kind: "bad", reason: "no type" };
  if (!known.has(type)) return { kind: "unknown", type: type.slice(0, 64) };
  const result = schema.safeParse(value);
  if (result.success) return { kind: "frame", frame: result.data };
  const paths = result.error.issues.slice(0, 5).map((issue) => issue.path.join(".") || "(frame)");
  return { kind: "bad", reason: `${type}: wrong ${paths.join(", ")}` };
}

const AGENT_FRAME_TYPES = frameTypes(agentFrameSchema);
const CONTROL_FRAME_TYPES = frameTypes(controlFrameSchema);

/** Reads a message from an agent. */
export function decodeAgentFrame(text: string): DecodedFrame<AgentFrame> {
  return decodeFrame(agentFrameSchema, AGENT_FRAME_TYPES, text);
}

/** Reads a message from the control plane. */
export function decodeControlFrame(text: string): DecodedFrame<ControlFrame> {
  return decodeFrame(controlFrameSchema, CONTROL_FRAME_TYPES, text);
}

function frameTypes(schema: { options: readonly { shape: { type: z.ZodLiteral<string> } }[] }): ReadonlySet<string> {
  return new Set(schema.options.map((option) => option.shape.type.value));
}
