import rateLimit from "@fastify/rate-limit";
import { EdgeError } from "../../protocol/errors.ts";
import { keyOf } from "./auth.ts";
import type { Api } from "./context.ts";

/** Limits the requests of each API key. Register it after authentication. */
export async function limitRate(api: Api, perMinute: number): Promise<void> {
  await api.register(rateLimit, {
    max: perMinute,
    timeWindow: 60_000,
    keyGenerator: (request) => keyOf(request).id,
    enableDraftSpec: true,
    errorResponseBuilder: (_request, { ttl }) => {
      const seconds = Math.ceil(ttl / 1000);
      return new EdgeError("TooManyRequests", `Too many requests; try again in ${seconds} s.`, {
        retry_after_s: seconds,
      });
    },
  });
}
