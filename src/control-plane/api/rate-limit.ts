import rateLimit from "@fastify/rate-limit";
import type { FastifyRequest } from "fastify";
import { EdgeError } from "../../protocol/errors.ts";
import type { Api } from "./context.ts";

/** Limits the requests of each of those that `keyOf` tells apart. */
export async function limitRate(
  api: Api,
  perMinute: number,
  keyOf: (request: FastifyRequest) => string,
): Promise<void> {
  await api.register(rateLimit, {
    max: perMinute,
    timeWindow: 60_000,
    keyGenerator: keyOf,
    enableDraftSpec: true,
    errorResponseBuilder: (_request, { ttl }) => {
      const seconds = Math.ceil(ttl / 1000);
      return new EdgeError("TooManyRequests", `Too many requests; try again in ${seconds} s.`, {
        retry_after_s: seconds,
      });
    },
  });
}
