import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { type BodyOf, type QueryOf, requestOf } from "./request.ts";
import { pendingSchema } from "./sims.ts";

const assetSchema = z.looseObject({
  uuid: z.string(),
  serial_number: z.string(),
  name: z.string(),
  type: z.string(),
  created_at: z.number(),
  status: z.string(),
  // Absent from services before they say it.
  connected: z.boolean().optional(),
  last_seen: z.number().nullish(),
  agent_version: z.string().nullish(),
  accepted_at: z.number().nullish(),
  attention: z.array(z.string()).optional(),
  clone: z
    .looseObject({ devices: z.array(z.looseObject({ boot_id: z.string(), address: z.string(), since: z.number() })) })
    .optional(),
  supersim: z
    .looseObject({ sid: z.string(), iccid: z.string(), network_group: z.string(), pending: pendingSchema.optional() })
    .optional(),
  prosim: z
    .looseObject({
      imsi: z.string(),
      iccid: z.string(),
      service_profile: z.string(),
      pending: pendingSchema.omit({ network_group: true }).optional(),
    })
    .optional(),
});
export type Asset = z.output<typeof assetSchema>;

const assetPageSchema = z.looseObject({ assets: z.array(assetSchema), next_cursor: z.string().nullable() });
type AssetPage = z.output<typeof assetPageSchema>;

export type AssetChange = BodyOf<"PATCH /v1/assets/{asset_id}">;

export function listAssets(client: ApiClient, query: QueryOf<"GET /v1/assets">): Promise<AssetPage> {
  return client.json(requestOf("GET /v1/assets", { query }), assetPageSchema);
}

export function getAsset(client: ApiClient, asset: string): Promise<Asset> {
  return client.json(requestOf("GET /v1/assets/{asset_id}", pathOf(asset)), assetSchema);
}

/** Accepts the device of an asset. */
export function acceptDevice(client: ApiClient, asset: string): Promise<Asset> {
  return client.json(requestOf("POST /v1/assets/{asset_id}/accept", pathOf(asset)), assetSchema);
}

/** The service waits up to ten seconds for an operator for each of three changes, after those of others to the same asset. */
const UPDATE_TIMEOUT_MS = 60_000;

export function updateAsset(client: ApiClient, asset: string, change: AssetChange): Promise<Asset> {
  const options = { ...pathOf(asset), body: change, timeoutMs: UPDATE_TIMEOUT_MS };
  return client.json(requestOf("PATCH /v1/assets/{asset_id}", options), assetSchema);
}

const tagsSchema = z.record(z.string(), z.string());
export type Tags = z.output<typeof tagsSchema>;

const variablesSchema = z.record(z.string(), z.looseObject({ value: z.string().nullable(), secret: z.boolean() }));
export type Variables = z.output<typeof variablesSchema>;

const holdSchema = z.looseObject({ reason: z.string(), until: z.number().nullable() });
type Hold = z.output<typeof holdSchema>;

/** @param changes a value sets a tag, `null` removes it */
export function changeTags(
  client: ApiClient,
  asset: string,
  changes: BodyOf<"PATCH /v1/assets/{asset_id}/tags">,
): Promise<Tags> {
  return client.json(requestOf("PATCH /v1/assets/{asset_id}/tags", { ...pathOf(asset), body: changes }), tagsSchema);
}

/** @param reveal includes the values of variables that are not secret */
export function getVariables(client: ApiClient, asset: string, reveal: boolean): Promise<Variables> {
  const query = { reveal: reveal ? "values" : undefined };
  return client.json(requestOf("GET /v1/assets/{asset_id}/variables", { ...pathOf(asset), query }), variablesSchema);
}

/** @param changes a value sets a variable, `null` removes it */
export function changeVariables(
  client: ApiClient,
  asset: string,
  changes: BodyOf<"PATCH /v1/assets/{asset_id}/variables">,
): Promise<Variables> {
  const options = { ...pathOf(asset), body: changes };
  return client.json(requestOf("PATCH /v1/assets/{asset_id}/variables", options), variablesSchema);
}

/** @param until Unix seconds */
export function holdAsset(
  client: ApiClient,
  asset: string,
  hold: BodyOf<"PUT /v1/assets/{asset_id}/hold">,
): Promise<Hold> {
  return client.json(requestOf("PUT /v1/assets/{asset_id}/hold", { ...pathOf(asset), body: hold }), holdSchema);
}

export function releaseAsset(client: ApiClient, asset: string): Promise<void> {
  return client.empty(requestOf("DELETE /v1/assets/{asset_id}/hold", pathOf(asset)));
}

function pathOf(asset: string) {
  return { path: { asset_id: asset } };
}
