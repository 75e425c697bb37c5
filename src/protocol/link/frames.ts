import { z } from "zod";
import { JsonLimitError, parseBoundedJson } from "../values/bounded-json.ts";
import { reportDeltaSchema, reportHashSchema } from "../apps/app-report.ts";
import { deployOptionsSchema } from "../apps/deploy-request.ts";
import { appActionSchema } from "../deployments/deployment-action.ts";
import { deviceEventSchema, errorCodeSchema } from "../deployments/deployment-event.ts";
import { MAX_MESSAGE_LENGTH } from "../limits.ts";
import { healthThresholdsSchema } from "./health-thresholds.ts";
import { sanitizedText, sanitizedLine } from "../values/sanitized-text.ts";
import { streamClose, streamCredit, streamOpen, streamOpened, streamResize } from "./streams.ts";

/*
 * Frames are JSON objects in WebSocket text messages, with the discriminator `type`. Unknown fields are dropped and
 * unknown types ignored, so either side may be newer than the other. Binary messages: see `stream-data.ts` and
 * `health-rows.ts`.
 */

const deploymentId = z.string().min(1).max(64);
const queryId = z.string().min(1).max(64);

/** First frame of a session, sent by the agent. */
const hello = z.object({
  type: z.literal("hello"),
  /** Highest protocol version that the agent supports. */
  protocol: z.int().min(1),
  agent_version: sanitizedLine(64),
  /** Deployments whose final event the control plane has not acknowledged: running or finished. */
  deployments: z.array(z.object({ deployment_id: deploymentId })).max(1000),
});

/** The agent has stored the command on disk. The deployment will end in exactly one final event. */
const ack = z.object({ type: z.literal("ack"), deployment_id: deploymentId });

/** The agent rejects the command: it has stored nothing, and will run nothing of it. */
const refuse = z.object({
  type: z.literal("refuse"),
  deployment_id: deploymentId,
  code: errorCodeSchema.catch("Internal"),
  message: sanitizedText(MAX_MESSAGE_LENGTH),
});

const event = z.object({ type: z.literal("event"), deployment_id: deploymentId, event: deviceEventSchema });

/** Changes of the device and its apps since the last report. Sent when the control plane's copy is out of date. */
const report = z.object({ type: z.literal("report"), ...reportDeltaSchema.shape });

/**
 * The device holds back changes of its report, so that the last one is out of date. The next report ends it, or this frame
 * without a number, when there is nothing to report any more. It does not outlast the session.
 */
const reportHeld = z.object({
  type: z.literal("report_held"),
  /** For how many seconds the last report has been out of date; `null`: it is current. */
  since_s: z.int().min(0).nullable(),
});

/** One answer to a query. `body` is validated by the schema of the query's kind. */
const answer = z.object({ type: z.literal("answer"), query_id: queryId, body: z.unknown() });

/** No more answers follow. With `code` the query failed, possibly after some answers. */
const queryEnd = z.object({
  type: z.literal("query_end"),
  query_id: queryId,
  code: errorCodeSchema.optional().catch("Internal"),
  message: sanitizedText(MAX_MESSAGE_LENGTH).optional(),
});

/** Response to `hello`: the session is established, commands may follow. */
const welcome = z.object({
  type: z.literal("welcome"),
  /** The protocol version of this session. */
  protocol: z.int().min(1),
  session_id: z.string().max(64),
  /** The asset that the device token belongs to. */
  asset: z.object({ uuid: z.string(), serial_number: z.string(), name: z.string() }),
  /** Hash of the report that the control plane has of the device. */
  report_hash: reportHashSchema.optional(),
  /**
   * Start of the newest row that the control plane has of how the device was, Unix seconds. It confirms what earlier sessions
   * sent: the device sends what follows (`health-rows.ts`).
   */
  health_at: z.int().min(0).optional(),
  /** What the device tells at once of how it is, where that differs from its defaults. */
  health_thresholds: healthThresholdsSchema.optional(),
  /** Time of day of the control plane when it sent this, Unix seconds. The device says if its own clock differs. */
  time: z.int().min(0).optional(),
});

/** Replaces the thresholds of the welcome: rules of the account, or what they select, have changed. Absent: the defaults. */
const healthThresholds = z.object({
  type: z.literal("health_thresholds"),
  thresholds: healthThresholdsSchema.optional(),
});

/** The device validates `spec`, with its own error codes, so the frame accepts any value. */
const deploy = z.object({
  type: z.literal("deploy"),
  deployment_id: deploymentId,
  spec: z.unknown(),
  options: deployOptionsSchema.optional(),
});

/** An action on an installed app. Acknowledged, reported and cancelled like `deploy`. */
const command = z.object({
  type: z.literal("command"),
  deployment_id: deploymentId,
  action: appActionSchema,
  app: z.string().max(512),
  /** For an update: the changes. Validated by the device. */
  spec: z.unknown().optional(),
  options: deployOptionsSchema.optional(),
});

/** A group of apps as one deployment. The device validates `request`. Acknowledged, reported and cancelled like `deploy`. */
const apply = z.object({
  type: z.literal("apply"),
  deployment_id: deploymentId,
  request: z.unknown(),
  options: deployOptionsSchema.optional(),
});

/**
 * A release of the agent itself, to be installed and tried. The device validates `request`, by `agentUpdateSchema`.
 * Acknowledged, reported and cancelled like `deploy`.
 */
const updateAgent = z.object({
  type: z.literal("update_agent"),
  deployment_id: deploymentId,
  request: z.unknown(),
  options: deployOptionsSchema.optional(),
});

/** A query to the device. `what` is a key of `QUERIES`, which validates `params`. An unknown one is ended with a code. */
const query = z.object({
  type: z.literal("query"),
  query_id: queryId,
  what: z.string().max(64),
  params: z.unknown().optional(),
});

/** The control plane does not need more answers to this query. */
const queryCancel = z.object({ type: z.literal("query_cancel"), query_id: queryId });

/**
 * The deployment was cancelled, or already reported as failed. The device undoes it, also when it has finished
 * successfully.
 */
const cancel = z.object({
  type: z.literal("cancel"),
  deployment_id: deploymentId,
  reason: z.enum(["timeout", "not_reachable", "requested", "unknown"]).catch("unknown"),
});

/** The control plane has stored all events of the deployment up to `device_seq`. */
const eventAck = z.object({ type: z.literal("event_ack"), deployment_id: deploymentId, device_seq: z.int().min(1) });

/** Planned stop of the control plane. The agent reconnects after about `retry_after_s`. */
const goodbye = z.object({
  type: z.literal("goodbye"),
  reason: z.string().max(200),
  retry_after_s: z.number().min(0).max(3600),
});

export const agentFrameSchema = z.discriminatedUnion("type", [
  hello,
  ack,
  refuse,
  event,
  report,
  reportHeld,
  answer,
  queryEnd,
  streamOpened,
  streamCredit,
  streamClose,
]);
export type AgentFrame = z.output<typeof agentFrameSchema>;

export const controlFrameSchema = z.discriminatedUnion("type", [
  welcome,
  deploy,
  command,
  apply,
  updateAgent,
  cancel,
  eventAck,
  query,
  queryCancel,
  healthThresholds,
  streamOpen,
  streamCredit,
  streamClose,
  streamResize,
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
  /** A type from a newer peer; ignored. */
  | { readonly kind: "unknown"; readonly type: string }
  /** Not a valid frame. `reason` contains nothing of the message. */
  | { readonly kind: "bad"; readonly reason: string };

/** Decodes one text message. Never throws. */
function decodeFrame<F>(schema: z.ZodType<F>, known: ReadonlySet<string>, text: Uint8Array | string): DecodedFrame<F> {
  let value: unknown;
  try {
    value = parseBoundedJson(text, "frame");
  } catch (error) {
    return { kind: "bad", reason: error instanceof JsonLimitError ? error.message : "not JSON" };
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

/** Decodes a message from an agent. */
export function decodeAgentFrame(text: Uint8Array | string): DecodedFrame<AgentFrame> {
  return decodeFrame(agentFrameSchema, AGENT_FRAME_TYPES, text);
}

/** Decodes a message from the control plane. */
export function decodeControlFrame(text: Uint8Array | string): DecodedFrame<ControlFrame> {
  return decodeFrame(controlFrameSchema, CONTROL_FRAME_TYPES, text);
}

function frameTypes(schema: { options: readonly { shape: { type: z.ZodLiteral<string> } }[] }): ReadonlySet<string> {
  return new Set(schema.options.map((option) => option.shape.type.value));
}
