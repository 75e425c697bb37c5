import { z } from "zod";
import type { Clock } from "../../lib/clock.ts";
import type { ApiClient } from "./client.ts";
import { readMessages } from "./event-stream.ts";
import { requestOf } from "./request.ts";
import { foreseenSchema, type RolloutCreation, standing } from "./rollouts.ts";

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

/** The stream's clock, and what ends it. */
interface StreamOptions {
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Yields the events of a rollout until the stream ends. Errors: `ServiceFailure`, `NetworkFailure`.
 *
 * @param after number of the last event that is known; all without it
 * @param onOpen called when the service has answered, however long the first event takes
 */
export function rolloutEvents(
  client: ApiClient,
  fleet: string,
  id: string,
  { after, ...options }: StreamOptions & { readonly after?: number; readonly onOpen?: () => void },
): AsyncGenerator<RolloutEvent> {
  const path = { fleet, rollout_id: id };
  const request = requestOf("GET /v1/fleets/{fleet}/rollouts/{rollout_id}/events", { path, query: { after } });
  return readMessages(client, request, rolloutEventSchema, { contentType: "text/event-stream", ...options });
}

/**
 * Plans a rollout, and if `asksDevices` asks every connected member what it would download: yields what each answers, then the
 * sums. Errors: as `rolloutEvents`.
 */
export function priceEvents(
  client: ApiClient,
  fleet: string,
  body: RolloutCreation,
  { asksDevices, ...options }: StreamOptions & { readonly asksDevices: boolean },
): AsyncGenerator<PriceEvent> {
  const query = { dry_run: "true", ask_devices: asksDevices ? undefined : "false" };
  const request = requestOf("POST /v1/fleets/{fleet}/rollouts", { path: { fleet }, query, body });
  return readMessages(client, request, priceEventSchema, { contentType: "text/event-stream", ...options });
}
