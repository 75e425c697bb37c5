import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { FastifyReply, FastifyRequest } from "fastify";

export const REQUEST_ID_HEADER = "x-request-id";

/** Ids that a client may choose, such as UUIDs and trace ids of proxies. They are logged. */
const WELL_FORMED = /^[A-Za-z0-9][\w.:=/+-]{0,127}$/;

/**
 * Returns the id that a request brings in `X-Request-Id`, so that the logs of its client, of proxies and of the service tell of
 * the same; otherwise, or if that is not well-formed, a new one that is unique across restarts of the server.
 */
export function requestIds(): (request: Pick<IncomingMessage, "headers">) => string {
  const run = randomBytes(4).toString("hex");
  let count = 0;
  return ({ headers }) => {
    const sent = headers[REQUEST_ID_HEADER];
    return typeof sent === "string" && WELL_FORMED.test(sent) ? sent : `${run}-${(++count).toString(36)}`;
  };
}

/** Hook: tells the client the id with which its request is logged. */
export function sendRequestId({ id }: FastifyRequest, reply: FastifyReply, done: () => void): void {
  void reply.header(REQUEST_ID_HEADER, id);
  done();
}
