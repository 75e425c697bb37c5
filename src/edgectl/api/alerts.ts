import { z } from "zod";
import { anyObject } from "../../protocol/values/scalars.ts";
import type { ApiClient } from "./client.ts";
import { type BodyOf, type QueryOf, requestOf } from "./request.ts";

const alertSchema = z.looseObject({
  id: z.string(),
  condition: z.string(),
  severity: z.string(),
  state: z.string(),
  subject: z.looseObject({ kind: z.string(), id: z.string(), name: z.string() }),
  since: z.number(),
  resolved_at: z.number().nullable(),
  acknowledged_by: z.string().nullable(),
});
export type Alert = z.output<typeof alertSchema>;
const alertPageSchema = z.looseObject({ alerts: z.array(alertSchema), next_cursor: z.string().nullable() });

const silenceSchema = z.looseObject({
  id: z.string(),
  reason: z.string(),
  selector: z.string(),
  asset: z.looseObject({ id: z.string(), name: z.string() }).nullable(),
  conditions: z.array(z.string()).nullable(),
  created_by: z.string(),
  until: z.number(),
});
export type Silence = z.output<typeof silenceSchema>;
const silencePageSchema = z.looseObject({ silences: z.array(silenceSchema), next_cursor: z.string().nullable() });

const deliverySchema = z.looseObject({
  channel: z.string(),
  text: z.string(),
  state: z.string(),
  attempts: z.number(),
  created_at: z.number(),
  answer: z.string().nullable(),
});
export type AlertDelivery = z.output<typeof deliverySchema>;
const deliveryPageSchema = z.looseObject({ deliveries: z.array(deliverySchema), next_cursor: z.string().nullable() });

const routeSchema = z.looseObject({
  conditions: z.array(z.string()).optional(),
  selector: z.string(),
  severities: z.array(z.string()).optional(),
  channels: z.array(z.string()),
  for_s: z.number(),
  repeat_s: z.number().nullable(),
  quiet_hours: z.looseObject({ from: z.string(), to: z.string(), time_zone: z.string() }).nullable(),
});
export type AlertRoute = z.output<typeof routeSchema>;
const settingsSchema = z.looseObject({
  rules: z.array(anyObject),
  routes: z.record(z.string(), routeSchema),
  channels: anyObject,
});
const replacedSchema = settingsSchema.extend({ new_secrets: z.record(z.string(), z.string()) });

export type AlertQuery = QueryOf<"GET /v1/alerts">;

export function listAlerts(client: ApiClient, query: AlertQuery) {
  return client.json(requestOf("GET /v1/alerts", { query }), alertPageSchema);
}

export function acknowledgeAlert(client: ApiClient, id: string): Promise<Alert> {
  const options = { path: { alert_id: id } };
  return client.json(requestOf("POST /v1/alerts/{alert_id}/acknowledge", options), alertSchema);
}

/** Returns how many alerts had no acknowledgement. */
export async function acknowledgeGroup(client: ApiClient, id: string): Promise<number> {
  const request = requestOf("POST /v1/alert-groups/{group_id}/acknowledge", { path: { group_id: id } });
  return (await client.json(request, z.looseObject({ acknowledged: z.number() }))).acknowledged;
}

export function listSilences(client: ApiClient, query: QueryOf<"GET /v1/silences">) {
  return client.json(requestOf("GET /v1/silences", { query }), silencePageSchema);
}

export function createSilence(client: ApiClient, body: BodyOf<"POST /v1/silences">): Promise<Silence> {
  return client.json(requestOf("POST /v1/silences", { body }), silenceSchema);
}

export function endSilence(client: ApiClient, id: string): Promise<void> {
  return client.empty(requestOf("DELETE /v1/silences/{silence_id}", { path: { silence_id: id } }));
}

/** Returns the settings for a change of them by `ifUnchanged`. */
export function readAlertSettings(client: ApiClient) {
  return client.tagged(requestOf("GET /v1/alert-settings"), settingsSchema);
}

/** @param body as a file has it: the service says what it refuses */
export function replaceAlertSettings(client: ApiClient, body: unknown, headers: Readonly<Record<string, string>>) {
  const options = { headers, body: body as BodyOf<"PUT /v1/alert-settings"> };
  return client.tagged(requestOf("PUT /v1/alert-settings", options), replacedSchema);
}

export function testAlertChannel(client: ApiClient, name: string) {
  const request = requestOf("POST /v1/alert-channels/{name}/test", { path: { name } });
  return client.json(request, z.looseObject({ delivered: z.boolean(), answer: z.string() }));
}

export function listAlertDeliveries(client: ApiClient, query: QueryOf<"GET /v1/alert-deliveries">) {
  return client.json(requestOf("GET /v1/alert-deliveries", { query }), deliveryPageSchema);
}
