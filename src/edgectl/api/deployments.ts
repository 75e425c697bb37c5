import type { Clock } from "../../lib/clock.ts";
import { z } from "zod";
import { deploymentStatusSchema } from "../../protocol/deployments/deployment-event.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { eventData, type Line, openLines, StreamFormatError, toFormatFailure } from "./event-stream.ts";
import { anyObject } from "../../protocol/values/scalars.ts";
import { type ApiClient, type ApiRequest, apiPath } from "./client.ts";

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
  const result = streamedEventSchema.safeParse(value);
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

/**
 * Opens a stream of deployment events. Errors: `ServiceFailure` for a response that is not a stream, `NetworkFailure`
 * without a response.
 */
export async function openEventStream(
  client: ApiClient,
  request: ApiRequest,
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

interface DeploymentQuery {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Which deployments of the account are listed. */
export interface AccountDeploymentQuery extends DeploymentQuery {
  readonly status?: string | undefined;
  readonly app?: string | undefined;
  readonly selector?: string | undefined;
  /** Unix seconds. */
  readonly since?: number | undefined;
}

/** Returns the path of an asset's deployments, of one deployment, or of a resource below it. */
export function deploymentsPath(asset: string, ...rest: readonly string[]): string {
  return apiPath("v1", "assets", asset, "edge", "deployments", ...rest);
}

export function listDeployments(client: ApiClient, asset: string, query: DeploymentQuery): Promise<DeploymentPage> {
  return client.json({ path: deploymentsPath(asset), query: { ...query } }, deploymentPageSchema);
}

export function listAccountDeployments(client: ApiClient, query: AccountDeploymentQuery): Promise<DeploymentPage> {
  return client.json({ path: apiPath("v1", "deployments"), query: { ...query } }, deploymentPageSchema);
}

export function getDeployment(client: ApiClient, asset: string, id: string): Promise<Deployment> {
  return client.json({ path: deploymentsPath(asset, id) }, deploymentSchema);
}

/** Requests that the deployment is stopped and undone. */
export function cancelDeployment(client: ApiClient, asset: string, id: string): Promise<Deployment> {
  return client.json({ method: "DELETE", path: deploymentsPath(asset, id) }, deploymentSchema);
}
