import type { FastifyRequest } from "fastify";
import { z } from "zod";

/**
 * The schema of the headers of an operation that honours `Idempotency-Key`.
 *
 * @param scope which requests the key identifies, and for how long, for the document
 * @param others its other headers
 */
export function idempotencyHeaders(scope: string, others: z.ZodObject = z.looseObject({})) {
  return others.extend({
    "idempotency-key": z
      .string()
      .regex(/^[\x21-\x7e]{1,255}$/, "must be 1 to 255 visible ASCII characters")
      .optional()
      .meta({
        description: `Makes the request safe to repeat: 1 to 255 visible ASCII characters. ${scope}`,
        examples: ["7f9c2ba4-e88f-4273-a5c1-0b1f9d2d3c5e"],
      }),
  });
}

/** The key of a request that such a schema has validated. */
export function idempotencyKeyOf({ headers }: FastifyRequest): string | undefined {
  return headers["idempotency-key"] as string | undefined;
}
