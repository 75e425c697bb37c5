import { z } from "zod";
import type { ApiClient } from "./client.ts";
import { apiPath } from "./path.ts";
import { pendingSchema } from "./pending-change.ts";

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
export type AssetPage = z.output<typeof assetPageSchema>;

export interface AssetQuery {
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
