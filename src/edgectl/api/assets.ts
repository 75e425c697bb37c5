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

/** The service takes up to 45 seconds for the rows of a request, after other requests of the account. */
const BULK_TIMEOUT_MS = 90_000;

const rowErrorSchema = z.looseObject({ code: z.string(), message: z.string() });
const registrationSchema = z.looseObject({
  // What a row has besides follows from its status. The device's token is not read: an enrolment code gives the device one.
  results: z.array(
    z.discriminatedUnion("status", [
      z.object({ status: z.literal("done"), asset_id: z.string().optional() }),
      z.object({ status: z.literal("failed"), error: rowErrorSchema }),
      z.object({ status: z.literal("skipped") }),
    ]),
  ),
});
export type RegistrationResult = z.output<typeof registrationSchema>["results"][number];

/** Registers up to 200 assets. Returns what became of each, in their order. */
export async function registerAssets(
  client: ApiClient,
  body: BodyOf<"POST /v1/bulk/assets">,
  isDryRun: boolean,
): Promise<readonly RegistrationResult[]> {
  const query = { dry_run: isDryRun ? "true" : undefined };
  const options = { query, body, timeoutMs: BULK_TIMEOUT_MS };
  return (await client.json(requestOf("POST /v1/bulk/assets", options), registrationSchema)).results;
}

const tagResultsSchema = z.looseObject({
  results: z.array(
    z.discriminatedUnion("status", [
      z.object({ status: z.literal("done") }),
      z.object({ status: z.literal("failed"), error: rowErrorSchema }),
      z.object({ status: z.literal("skipped") }),
    ]),
  ),
});

/** Sets tags of up to 200 assets. Returns what became of each, in their order. */
export async function tagAssets(client: ApiClient, rows: BodyOf<"POST /v1/bulk/tags">["assets"]) {
  const options = { body: { assets: rows }, timeoutMs: BULK_TIMEOUT_MS };
  return (await client.json(requestOf("POST /v1/bulk/tags", options), tagResultsSchema)).results;
}

const enrolmentCodeSchema = z.looseObject({ code: z.string(), serial_number: z.string(), expires_at: z.number() });
export type EnrolmentCode = z.output<typeof enrolmentCodeSchema>;

/** Makes a code with which a device becomes the asset. Voids earlier ones of it that were not used. */
export function createEnrolmentCode(
  client: ApiClient,
  asset: string,
  validS: number | undefined,
): Promise<EnrolmentCode> {
  const options = { ...pathOf(asset), body: { valid_s: validS } };
  return client.json(requestOf("POST /v1/assets/{asset_id}/enrolment-codes", options), enrolmentCodeSchema);
}

function pathOf(asset: string) {
  return { path: { asset_id: asset } };
}
