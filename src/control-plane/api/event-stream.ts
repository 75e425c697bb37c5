import { Readable } from "node:stream";
import type { FastifyReply } from "fastify";
import type { DeploymentEvent } from "../../protocol/deployment-event.ts";
import type { EdgeError } from "../../protocol/errors.ts";
import { errorEntry } from "../../protocol/errors.ts";
import type { StoredEvent } from "../store/deployments.ts";

const MEDIA_TYPE = "text/event-stream";
/** A blank line: the only keep-alive the grammar of the stream allows. */
const KEEP_ALIVE = "\n";

/** One event of the stream: a `data:` line and a blank one. */
function formatEvent(json: string): string {
  return `data: ${json}\n\n`;
}

/** Answers with the events as they come. Each batch is sent at once; an empty one keeps the connection alive. */
export function sendEvents(reply: FastifyReply, batches: AsyncIterable<readonly StoredEvent[]>): FastifyReply {
  return setHeaders(reply).send(Readable.from(formatBatches(batches)));
}

/** Answers a request that never became a deployment: the error's HTTP status and one `Fail` event. */
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
    .code(errorEntry(error.code).http)
    .send(formatEvent(JSON.stringify(event)));
}

async function* formatBatches(batches: AsyncIterable<readonly StoredEvent[]>): AsyncGenerator<string> {
  for await (const events of batches) {
    yield events.length === 0 ? KEEP_ALIVE : events.map(({ json }) => formatEvent(json)).join("");
  }
}

function setHeaders(reply: FastifyReply): FastifyReply {
  return reply.headers({
    "Content-Type": MEDIA_TYPE,
    "Cache-Control": "no-cache",
    // Tells nginx and its like not to hold events back.
    "X-Accel-Buffering": "no",
  });
}
