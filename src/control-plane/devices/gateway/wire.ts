import { z } from "zod";
import { parseJson } from "../../../lib/parse-json.ts";
import { errorCodeSchema } from "../../../protocol/deployments/deployment-event.ts";
import { isQueryKind, type QueryKind } from "../../../protocol/link/device-query.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { MAX_STREAM_CREDIT, streamClose, streamKindSchema, streamOpened } from "../../../protocol/link/streams.ts";
import { anyObject } from "../../../protocol/values/scalars.ts";

/*
 * The bodies on a channel of the gateway. The first one is a request of the instance that asks, in JSON. Answers to a query are
 * JSON as the device sent it. A body of a stream begins with a byte: 0 for JSON, or 1 for data, and then a byte for the channel.
 */

/** What an instance asks the holder of a device's session. */
const requestSchema = z.discriminatedUnion("type", [
  z.object({
    type: z.literal("query"),
    asset: z.string(),
    what: z.string().refine((what): what is QueryKind => isQueryKind(what)),
    params: z.unknown(),
  }),
  z.object({
    type: z.literal("stream"),
    asset: z.string(),
    kind: streamKindSchema,
    app: z.string(),
    params: z.unknown(),
    credit: z.int().min(0).max(MAX_STREAM_CREDIT),
    by: z.string(),
  }),
  z.object({ type: z.literal("liveness"), asset: z.string() }),
]);
export type GatewayRequest = z.output<typeof requestSchema>;

/** The last body of the holder: why it has ended. */
const endSchema = z.object({
  code: errorCodeSchema.exactOptional(),
  message: z.string().exactOptional(),
  details: anyObject.exactOptional(),
});

const bytes = z.int().min(1).max(MAX_STREAM_CREDIT);

/** What belongs to a stream besides its data. */
const streamControlSchema = z.discriminatedUnion("type", [
  streamOpened.pick({ credit: true, is_directory: true }).extend({ type: z.literal("opened") }),
  z.object({ type: z.literal("credit"), bytes }),
  z.object({ type: z.literal("resize"), columns: z.int(), rows: z.int() }),
]);
export type StreamControl = z.output<typeof streamControlSchema>;

const streamEndSchema = streamClose.pick({ code: true, message: true, exit_code: true });

export function encodeJson(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

export function decodeJson(body: Uint8Array): unknown {
  return parseJson(body, "instance");
}

export function decodeRequest(body: Uint8Array): GatewayRequest | undefined {
  return requestSchema.safeParse(decodeJson(body)).data;
}

export function encodeEnd(error: EdgeError | undefined): Uint8Array {
  if (!error) return encodeJson({});
  const { code, message, details } = error;
  return encodeJson({ code, message, ...(details && { details }) });
}

/** Returns the error of a query's end; `undefined` if it ended as it should. */
export function decodeEnd(body: Uint8Array): EdgeError | undefined {
  const parsed = endSchema.safeParse(decodeJson(body));
  if (!parsed.success) return holderLost();
  const { code, message, details } = parsed.data;
  return code && new EdgeError(code, message, details);
}

/** Returns the end of a stream. */
export function decodeStreamEnd(body: Uint8Array): z.output<typeof streamEndSchema> {
  const { code, message } = holderLost();
  return streamEndSchema.safeParse(decodeJson(body)).data ?? { code, message };
}

const JSON_BODY = 0;
const DATA_BODY = 1;

export function encodeStreamControl(control: StreamControl): Uint8Array {
  return Buffer.concat([Uint8Array.of(JSON_BODY), encodeJson(control)]);
}

export function encodeStreamBytes(channel: number, data: Uint8Array): Uint8Array {
  const body = new Uint8Array(2 + data.length);
  body.set([DATA_BODY, channel]);
  body.set(data, 2);
  return body;
}

/** Decodes a body of a stream; `undefined` if it is not valid. The data share the memory of the body. */
export function decodeStreamBody(
  body: Uint8Array,
): StreamControl | { readonly type: "data"; readonly channel: number; readonly data: Uint8Array } | undefined {
  if (body[0] === DATA_BODY && body[1] !== undefined) return { type: "data", channel: body[1], data: body.subarray(2) };
  return body[0] === JSON_BODY ? streamControlSchema.safeParse(decodeJson(body.subarray(1))).data : undefined;
}

/** The instance that has the device's session cannot be reached. */
export function holderLost(): EdgeError {
  return new EdgeError(
    "ServiceUnavailable",
    "The part of the service that the device is connected to cannot be reached.",
  );
}
