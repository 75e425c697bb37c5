import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { DeploymentEvent } from "../../protocol/deployments/deployment-event.ts";
import type { EdgeError } from "../../protocol/errors/errors.ts";
import type { StoredEvent } from "../core/deployment.ts";
import type { ApiContext } from "./context.ts";
import { failureStreamStatus } from "./errors.ts";
import { streamSignal } from "./stream-signal.ts";

const MEDIA_TYPE = "text/event-stream";
/** A blank line, the only keep-alive that the specified format allows. */
const KEEP_ALIVE = "\n";

/** Formats one event: a `data:` line and a blank line; with an id an `id:` line before. */
export function formatEvent(json: string, id?: number | string): string {
  return `${id === undefined ? "" : `id: ${id}\n`}data: ${json}\n\n`;
}

/**
 * Streams the events of a deployment, no faster than the client reads. An empty batch becomes a keep-alive. Error:
 * `TooManyRequests` when the deployment has too many streams.
 *
 * @param hasIds whether events have an `id:` line. The response to a command has none: it consists of `data:` lines alone
 */
export function sendEvents(
  context: ApiContext<"accounts" | "deployments" | "streams">,
  request: FastifyRequest,
  reply: FastifyReply,
  { id, after, hasIds }: { readonly id: string; readonly after: number; readonly hasIds: boolean },
): FastifyReply {
  const { deployments, streams } = context;
  streams.limiter.acquireForDeployment(reply, id);
  const texts = formatBatches(deployments.events(id, after, streamSignal(request, reply, context)), hasIds);
  return sendTexts(reply, streams.limiter.withStallTimeout(request, reply, texts));
}

/** Responds to a request that did not become a deployment: the error's HTTP status and one `Fail` event. */
export function sendFailure(reply: FastifyReply, error: EdgeError, nowMs: number): void {
  const event: DeploymentEvent = {
    status: "Fail",
    message: error.message,
    deployment_id: "",
    seq: 1,
    timestamp: Math.floor(nowMs / 1000),
    step: "received",
    code: error.code,
    ...(error.details && { details: { ...error.details } }),
  };
  void setHeaders(reply)
    .code(failureStreamStatus(error.code))
    .send(formatEvent(JSON.stringify(event)));
}

/** Formats batches of events with their `seq` as ids. An empty batch becomes a keep-alive. */
export async function* formatBatches(
  batches: AsyncIterable<readonly Pick<StoredEvent, "seq" | "json">[]>,
  hasIds: boolean,
): AsyncGenerator<string> {
  for await (const events of batches) {
    const texts = events.map(({ seq, json }) => formatEvent(json, hasIds ? seq : undefined));
    yield events.length === 0 ? KEEP_ALIVE : texts.join("");
  }
}

function setHeaders(reply: FastifyReply): FastifyReply {
  return reply.headers(streamHeaders());
}

/** Responds with texts as an event stream. */
export function sendTexts(reply: FastifyReply, texts: AsyncIterable<string>): FastifyReply {
  return setHeaders(reply).send(Readable.from(texts));
}

/** The headers of every event stream. */
export function streamHeaders() {
  return {
    "content-type": MEDIA_TYPE,
    "cache-control": "no-cache",
    // Disables buffering in nginx and other proxies.
    "x-accel-buffering": "no",
  };
}
