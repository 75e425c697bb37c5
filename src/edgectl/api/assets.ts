import { z } from "zod";
import { type ApiClient, apiPath } from "./client.ts";
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
      pending: pendingSchema.optional(),
    })
    .optional(),
});
export type Asset = z.output<typeof assetSchema>;

const assetPageSchema = z.looseObject({ assets: z.array(assetSchema), next_cursor: z.string().nullable() });
type AssetPage = z.output<typeof assetPageSchema>;

interface AssetQuery {
  readonly status?: string | undefined;
  readonly type?: string | undefined;
  readonly q?: string | undefined;
  /** `true` or `false`. */
  readonly connected?: string | undefined;
  /** `true` or `false`. */
  readonly accepted?: string | undefined;
  readonly attention?: string | undefined;
  readonly agent_version?: string | undefined;
  readonly selector?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

export interface AssetChange {
  name?: string;
  type?: string;
  status?: string;
  supersim?: { network_group: string };
}

export function listAssets(client: ApiClient, query: AssetQuery): Promise<AssetPage> {
  return client.json({ path: apiPath("v1", "assets"), query: { ...query } }, assetPageSchema);
}

export function getAsset(client: ApiClient, asset: string): Promise<Asset> {
  return client.json({ path: apiPath("v1", "assets", asset) }, assetSchema);
}

/** Accepts the device of an asset. */
export function acceptDevice(client: ApiClient, asset: string): Promise<Asset> {
  return client.json({ method: "POST", path: apiPath("v1", "assets", asset, "accept") }, assetSchema);
}

/** The service waits up to ten seconds for an operator for each of three changes, after those of others to the same asset. */
const UPDATE_TIMEOUT_MS = 60_000;

export function updateAsset(client: ApiClient, asset: string, change: AssetChange): Promise<Asset> {
  const path = apiPath("v1", "assets", asset);
  return client.json({ method: "PATCH", path, body: change, timeoutMs: UPDATE_TIMEOUT_MS }, assetSchema);
}

const tagsSchema = z.record(z.string(), z.string());
export type Tags = z.output<typeof tagsSchema>;

const variablesSchema = z.record(z.string(), z.looseObject({ value: z.string().nullable(), secret: z.boolean() }));
export type Variables = z.output<typeof variablesSchema>;

/** A variable to set, or `null` to remove it. */
type VariableChanges = Readonly<Record<string, { readonly value: string; readonly secret: boolean } | null>>;

const holdSchema = z.looseObject({ reason: z.string(), until: z.number().nullable() });
type Hold = z.output<typeof holdSchema>;

/** @param changes a value sets a tag, `null` removes it */
export function changeTags(
  client: ApiClient,
  asset: string,
  changes: Readonly<Record<string, string | null>>,
): Promise<Tags> {
  return client.json({ method: "PATCH", path: pathOf(asset, "tags"), body: changes }, tagsSchema);
}

/** @param reveal includes the values of variables that are not secret */
export function getVariables(client: ApiClient, asset: string, reveal: boolean): Promise<Variables> {
  const query = { reveal: reveal ? "values" : undefined };
  return client.json({ path: pathOf(asset, "variables"), query }, variablesSchema);
}

export function changeVariables(client: ApiClient, asset: string, changes: VariableChanges): Promise<Variables> {
  return client.json({ method: "PATCH", path: pathOf(asset, "variables"), body: changes }, variablesSchema);
}

/** @param until Unix seconds */
export function holdAsset(
  client: ApiClient,
  asset: string,
  hold: { readonly reason: string; readonly until?: number },
): Promise<Hold> {
  return client.json({ method: "PUT", path: pathOf(asset, "hold"), body: hold }, holdSchema);
}

export function releaseAsset(client: ApiClient, asset: string): Promise<void> {
  return client.empty({ method: "DELETE", path: pathOf(asset, "hold") });
}

function pathOf(asset: string, setting: string): string {
  return apiPath("v1", "assets", asset, setting);
}
