import type { Clock } from "../../lib/clock.ts";
import { z } from "zod";
import type { DeploymentEvent } from "../../protocol/api-types.ts";
import { deploymentStatusSchema } from "../../protocol/deployments/deployment-event.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { eventData, type Line, openLines, StreamFormatError, toFormatFailure } from "./event-stream.ts";
import { anyObject } from "../../protocol/values/scalars.ts";
import type { ApiClient } from "./client.ts";
import { type ApiRequest, type Fits, type QueryOf, requestOf } from "./request.ts";

/**
 * An event as edgectl needs it. Strict about the fields of the specification and lenient about all others, so that a
 * newer service may add steps, codes and fields.
 */
const streamedEventSchema = z.looseObject({
  status: deploymentStatusSchema,
  message: z.string(),
  deployment_id: z.string().optional().catch(undefined),
  seq: z.int().min(1).optional().catch(undefined),
  step: z.string().optional().catch(undefined),
  progress: z.number().min(0).max(100).optional().catch(undefined),
  bytes: z
    .object({ done: z.number().min(0), total: z.number().min(0) })
    .optional()
    .catch(undefined),
  code: z.string().optional().catch(undefined),
  app: z.string().optional().catch(undefined),
  details: anyObject.optional().catch(undefined),
});

export type StreamedEvent = z.output<typeof streamedEventSchema>;

/** Parses one event. Errors: `StreamFormatError`. */
export function parseStreamedEvent(json: string): StreamedEvent {
  const value = parseJson(json, "response");
  if (value === undefined) throw new StreamFormatError("a line of the stream is not JSON");
  const schema = streamedEventSchema satisfies Fits<typeof streamedEventSchema, DeploymentEvent>;
  const result = schema.safeParse(value);
  if (!result.success) throw new StreamFormatError("a line of the stream is not a deployment event");
  return result.data;
}

/** A stream of deployment events whose headers have arrived. Dispose it to close the connection. */
export interface EventStream extends Disposable {
  /** From the response's headers. */
  readonly deploymentId: string | undefined;
  /** Ends when the server ends it; throws a `NetworkFailure` when the connection breaks or is silent for too long. */
  readonly events: AsyncIterable<StreamedEvent>;
}

/** A request whose response is the stream of a deployment's events. */
export type DeploymentRequest = ApiRequest<unknown, DeploymentEvent>;

/**
 * Opens a stream of deployment events. Errors: `ServiceFailure` for a response that is not a stream, `NetworkFailure`
 * without a response.
 */
export async function openEventStream(
  client: ApiClient,
  request: DeploymentRequest,
  clock: Clock,
  signal: AbortSignal,
): Promise<EventStream> {
  // A refusal is an event in a stream with an error status.
  const options = { clock, signal, contentType: "text/event-stream", allowsErrorStatus: true };
  const stream = await openLines(client, request, options);
  return {
    deploymentId: stream.headers.get("deployment-id") ?? undefined,
    events: readEvents(client, stream.lines),
    [Symbol.dispose]: () => stream[Symbol.dispose](),
  };
}

async function* readEvents(client: ApiClient, lines: AsyncIterable<Line>): AsyncGenerator<StreamedEvent> {
  for await (const { text, isTerminated } of lines) {
    const json = eventData(text);
    const event = json === undefined ? undefined : parseEvent(client, json, isTerminated);
    if (event) yield event;
  }
}

function parseEvent(client: ApiClient, json: string, isTerminated: boolean): StreamedEvent | undefined {
  try {
    return parseStreamedEvent(json);
  } catch (error) {
    // An unterminated line was most likely truncated: it counts only if it is complete.
    if (!isTerminated) return undefined;
    throw error instanceof StreamFormatError ? toFormatFailure(client, error) : error;
  }
}

const deploymentSchema = z.looseObject({
  deployment_id: z.string(),
  asset_id: z.string().optional(),
  app: z.string(),
  action: z.string().default("deploy"),
  image: z.string().optional(),
  dry_run: z.boolean().optional(),
  status: z.string(),
  code: z.string().nullish(),
  message: z.string().nullish(),
  created_at: z.number(),
  finished_at: z.number().nullish(),
  cancel_requested_at: z.number().nullish(),
});
export type Deployment = z.output<typeof deploymentSchema>;

const deploymentPageSchema = z.looseObject({
  deployments: z.array(deploymentSchema),
  next_cursor: z.string().nullable(),
});
type DeploymentPage = z.output<typeof deploymentPageSchema>;

const DEPLOYMENTS = "/v1/assets/{asset_id}/edge/deployments";
const DEPLOYMENT = `${DEPLOYMENTS}/{deployment_id}` as const;

export function listDeployments(
  client: ApiClient,
  asset: string,
  query: QueryOf<`GET ${typeof DEPLOYMENTS}`>,
): Promise<DeploymentPage> {
  return client.json(requestOf(`GET ${DEPLOYMENTS}`, { path: { asset_id: asset }, query }), deploymentPageSchema);
}

export function listAccountDeployments(
  client: ApiClient,
  query: QueryOf<"GET /v1/deployments">,
): Promise<DeploymentPage> {
  return client.json(requestOf("GET /v1/deployments", { query }), deploymentPageSchema);
}

export function getDeployment(client: ApiClient, asset: string, id: string): Promise<Deployment> {
  return client.json(requestOf(`GET ${DEPLOYMENT}`, pathOf(asset, id)), deploymentSchema);
}

/** Requests that the deployment is stopped and undone. */
export function cancelDeployment(client: ApiClient, asset: string, id: string): Promise<Deployment> {
  return client.json(requestOf(`DELETE ${DEPLOYMENT}`, pathOf(asset, id)), deploymentSchema);
}

/** The request for a deployment's events. @param after number of the last event that is known; 0: from the first on */
export function eventsRequest(asset: string, id: string, after: number): DeploymentRequest {
  return requestOf(`GET ${DEPLOYMENT}/events`, { ...pathOf(asset, id), query: { after } });
}

function pathOf(asset: string, id: string) {
  return { path: { asset_id: asset, deployment_id: id } };
}
