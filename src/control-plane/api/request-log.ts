import type { FastifyReply, FastifyRequest } from "fastify";
import type { Logger } from "../../lib/logger.ts";

/** Logs one line per answered request. The route's pattern stands for the URL: what clients put into it is not logged. */
export function logRequest(parent: Logger) {
  // The fields are fixed and hold no secrets; looking for some in each would cost as much as the request.
  const logger = parent.child({}, { redact: [] });
  return async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const { id, method, routeOptions, apiKey } = request;
    const quiet = apiKey === undefined && reply.statusCode < 400;
    logger[quiet ? "debug" : "info"](
      {
        request_id: id,
        key_id: apiKey?.id,
        method,
        route: routeOptions.url ?? "(none)",
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      "request",
    );
  };
}
