import { z } from "zod";
import { anyObject } from "../../protocol/values/scalars.ts";
import { type ApiClient, apiPath } from "./client.ts";

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

const settingsSchema = z.looseObject({ rules: z.array(anyObject), routes: anyObject, channels: anyObject });
const replacedSchema = settingsSchema.extend({ new_secrets: z.record(z.string(), z.string()) });

interface Position {
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface AlertQuery extends Position {
  readonly state?: "resolved" | undefined;
  readonly condition?: string | undefined;
  readonly severity?: string | undefined;
  readonly selector?: string | undefined;
  readonly asset?: string | undefined;
  readonly group?: string | undefined;
}

export function listAlerts(client: ApiClient, query: AlertQuery) {
  return client.json({ path: apiPath("v1", "alerts"), query: { ...query } }, alertPageSchema);
}

export function acknowledgeAlert(client: ApiClient, id: string): Promise<Alert> {
  return client.json({ method: "POST", path: apiPath("v1", "alerts", id, "acknowledge") }, alertSchema);
}

/** Returns how many alerts nobody had acknowledged. */
export async function acknowledgeGroup(client: ApiClient, id: string): Promise<number> {
  const path = apiPath("v1", "alert-groups", id, "acknowledge");
  return (await client.json({ method: "POST", path }, z.looseObject({ acknowledged: z.number() }))).acknowledged;
}

export function listSilences(client: ApiClient, position: Position) {
  return client.json({ path: apiPath("v1", "silences"), query: { ...position } }, silencePageSchema);
}

export function createSilence(client: ApiClient, body: object): Promise<Silence> {
  return client.json({ method: "POST", path: apiPath("v1", "silences"), body }, silenceSchema);
}

export function endSilence(client: ApiClient, id: string): Promise<void> {
  return client.empty({ method: "DELETE", path: apiPath("v1", "silences", id) });
}

export function getAlertSettings(client: ApiClient) {
  return client.json({ path: apiPath("v1", "alert-settings") }, settingsSchema);
}

export function replaceAlertSettings(client: ApiClient, body: unknown) {
  return client.json({ method: "PUT", path: apiPath("v1", "alert-settings"), body }, replacedSchema);
}

export function testAlertChannel(client: ApiClient, name: string) {
  const path = apiPath("v1", "alert-channels", name, "test");
  return client.json({ method: "POST", path }, z.looseObject({ delivered: z.boolean(), answer: z.string() }));
}

export function listAlertDeliveries(
  client: ApiClient,
  query: Position & { readonly channel?: string | undefined; readonly state?: string | undefined },
) {
  return client.json({ path: apiPath("v1", "alert-deliveries"), query: { ...query } }, deliveryPageSchema);
}
