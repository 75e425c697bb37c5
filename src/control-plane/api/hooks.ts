import rateLimit from "@fastify/rate-limit";
import type { FastifyReply, FastifyRequest, onSendHookHandler } from "fastify";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { Observer } from "../metrics/observer.ts";
import { principalFields } from "../accounts/principal.ts";
import type { Api } from "./context.ts";
import { rateStoreOf, type SharedRateCounter } from "./shared-rate-store.ts";

/** Responses that are sent while something happens, or as fast as a device's link takes them. */
const STREAM_TYPES = /^(text\/event-stream|application\/x-ndjson|application\/octet-stream)/;

interface RateLimit {
  readonly perMinute: number;
  readonly keyOf: (request: FastifyRequest) => string | Promise<string>;
  readonly onExceeded: () => void;
  /** Counts over all instances; absent if there can be one only. */
  readonly shared?: SharedRateCounter | undefined;
}

/** Limits the requests per minute of each key that `keyOf` returns. */
export async function limitRate(api: Api, { perMinute, keyOf, onExceeded, shared }: RateLimit): Promise<void> {
  await api.register(rateLimit, {
    max: perMinute,
    timeWindow: 60_000,
    keyGenerator: keyOf,
    onExceeded,
    enableDraftSpec: true,
    ...(shared && { store: rateStoreOf(shared) }),
    errorResponseBuilder: (_request, { ttl }) => {
      const seconds = Math.ceil(ttl / 1000);
      return new EdgeError("TooManyRequests", `Too many requests; try again in ${seconds} s.`, {
        retry_after_s: seconds,
      });
    },
  });
}

/** Logs one line per completed request, with the route's pattern in place of the URL, whose values are not logged. */
export function logRequest(parent: Logger) {
  // These fields hold no secrets; redacting each line would cost as much as the request.
  const logger = parent.child({}, { redact: [] });
  return (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const { id, method, routeOptions, principal } = request;
    const isQuiet = principal === undefined && reply.statusCode < 400;
    logger[isQuiet ? "debug" : "info"](
      {
        request_id: id,
        ...(principal && principalFields(principal)),
        method,
        route: routeOptions.url ?? "(none)",
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      "request",
    );
    done();
  };
}

/** Passes each completed request on to be measured. */
export function observeRequest(observer: Observer) {
  return async ({ method, routeOptions }: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const isStream = STREAM_TYPES.test(String(reply.getHeader("content-type")));
    observer.request({ method, route: routeOptions.url, status: reply.statusCode, ms: reply.elapsedTime, isStream });
  };
}

/**
 * Returns a hook that closes the connection of a client that takes nothing of a response for the time given: what waits for it
 * is in memory as a whole. A client that takes it slowly is left alone. Streams have a bound of their own.
 *
 * @param stallMs in milliseconds; it may be half of it
 */
export function closeUntaken(stallMs: number): onSendHookHandler {
  return (request, _reply, payload, done) => {
    // Node.js looks at what the kernel has taken since it looked last: the second time without a change is the end. It sets
    // another timeout behind the response.
    if (typeof payload === "string" || Buffer.isBuffer(payload)) request.raw.socket.setTimeout(stallMs / 2);
    done();
  };
}
