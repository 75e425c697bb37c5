import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import { parseJson } from "../../lib/parse-json.ts";
import type { ApiClient, ApiRequest } from "./client.ts";
import { eventData, openLines, StreamFormatError, toFormatFailure } from "./event-stream.ts";
import { foreseenSchema, standing } from "./rollouts.ts";

const rolloutEventSchema = z.looseObject({
  status: z.string(),
  message: z.string(),
  seq: z.number(),
  timestamp: z.number(),
  state: z.string(),
  wave: z.number(),
  counts: z.record(z.string(), z.number()),
  ...standing,
  code: z.string().optional(),
});
export type RolloutEvent = z.output<typeof rolloutEventSchema>;

const assetPriceSchema = z.looseObject({
  asset_name: z.string(),
  serial_number: z.string(),
  for: z.string().optional(),
  wave: z.number(),
  download_bytes: z.number().optional(),
  code: z.string().optional(),
  message: z.string().optional(),
});
export type AssetPrice = z.output<typeof assetPriceSchema>;

const priceSchema = z.looseObject({
  revision: z.number(),
  waves: z.array(z.looseObject({ wave: z.number(), targets: z.number() })),
  targets: z.number(),
  asked: z.number(),
  not_asked: z.number(),
  refused: z.number(),
  download_bytes: z.number(),
  foreseen: foreseenSchema,
  plan_id: z.string(),
  expires_at: z.number(),
});
export type Price = z.output<typeof priceSchema>;

const priceEventSchema = z.looseObject({
  status: z.string(),
  message: z.string(),
  asset: assetPriceSchema.optional(),
  details: priceSchema.optional(),
  code: z.string().optional(),
});
type PriceEvent = z.output<typeof priceEventSchema>;

/**
 * Yields the events of a rollout until the stream ends. Errors: `ServiceFailure`, `NetworkFailure`.
 *
 * @param onOpen called when the service has answered, however long the first event takes
 */
export function rolloutEvents(
  client: ApiClient,
  request: ApiRequest,
  clock: Clock,
  signal: AbortSignal,
  onOpen?: () => void,
) {
  return streamOf<RolloutEvent>(client, request, rolloutEventSchema, clock, signal, onOpen);
}

/** Yields what each asset answers, then the sums. Errors: as `rolloutEvents`. */
export function priceEvents(client: ApiClient, request: ApiRequest, clock: Clock, signal: AbortSignal) {
  return streamOf<PriceEvent>(client, request, priceEventSchema, clock, signal);
}

async function* streamOf<T>(
  client: ApiClient,
  request: ApiRequest,
  schema: z.ZodType<T>,
  clock: Clock,
  signal: AbortSignal,
  onOpen?: () => void,
): AsyncGenerator<T> {
  using stream = await openLines(client, request, { clock, signal, contentType: "text/event-stream" });
  onOpen?.();
  for await (const { text, isTerminated } of stream.lines) {
    const json = isTerminated ? eventData(text) : undefined;
    if (json === undefined) continue;
    const result = schema.safeParse(parseJson(json, "response"));
    if (!result.success) throw toFormatFailure(client, new StreamFormatError("an event is not one of this service"));
    yield result.data;
  }
}
