import { z } from "zod";
import { deploymentStatusSchema } from "../../protocol/deployment-event.ts";
import { StreamFormatError } from "./event-lines.ts";

/**
 * An event as this command needs it: the fields of the specification are held to, the rest is taken as it comes, so
 * that a newer service may add steps, codes and fields.
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
  details: z.record(z.string(), z.unknown()).optional().catch(undefined),
});

export type StreamedEvent = z.output<typeof streamedEventSchema>;

/** Reads one event. Errors: `StreamGrammarError` where the text is not one. */
export function parseStreamedEvent(json: string): StreamedEvent {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new StreamFormatError("a line of the stream is not JSON");
  }
  const result = streamedEventSchema.safeParse(value);
  if (!result.success) throw new StreamFormatError("a line of the stream is not a deployment event");
  return result.data;
}
