import type { FastifyRequest } from "fastify";
import { z } from "zod";
import { preferredType } from "../headers.ts";

/** The headers of an operation that can respond before the deployment has ended. */
export const PREFER = z.looseObject({
  prefer: z
    .string()
    .optional()
    .meta({
      description:
        "With `respond-async` the response comes as soon as the deployment is on record: 202, in JSON like every refusal then. " +
        "Other preferences are ignored.",
      examples: ["respond-async"],
    }),
});

/** Whether the request asks for a response that does not wait for the end of the deployment (RFC 7240). */
export function prefersAsync({ headers }: FastifyRequest): boolean {
  const preferences = String(headers["prefer"] ?? "").split(",");
  return preferences.some((each) => each.split(";")[0]?.trim().toLowerCase() === "respond-async");
}

/** Whether the client prefers JSON to an event stream. */
export function prefersJson(request: FastifyRequest): boolean {
  const offered = ["text/event-stream", "application/json"] as const;
  return prefersAsync(request) || preferredType(request.headers.accept, offered) === "application/json";
}
