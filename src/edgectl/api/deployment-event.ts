import { z } from "zod";
import { deploymentStatusSchema } from "../../protocol/deployment-event.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { StreamFormatError } from "./line-stream.ts";
import { anyObject } from "../../protocol/scalars.ts";

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
