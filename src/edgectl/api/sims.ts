import { z } from "zod";
import { type PlanDeployments, planDeploymentsSchema } from "../../protocol/assets/data-plan.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import { type ApiClient, apiPath } from "./client.ts";

/** A change of a SIM that its operator has queued. */
export const pendingSchema = z.looseObject({
  status: z.string().optional(),
  network_group: z.string().optional(),
  /** Unix seconds. */
  since: z.number(),
});
export type PendingChange = z.output<typeof pendingSchema>;

const simSchema = z.looseObject({
  type: z.string(),
  iccid: z.string(),
  asset_id: z.string(),
  asset_name: z.string(),
  serial_number: z.string(),
  status: z.string(),
  operator_status: z.string().optional(),
  network_group: z.string().optional(),
  service_profile: z.string().optional(),
  pending: pendingSchema.optional(),
  lost: z.boolean(),
  checked_at: z.number().nullable(),
  allowance: z
    .looseObject({
      bytes: z.number(),
      source: z.string(),
      used_bytes: z.number().optional(),
      forecast_bytes: z.number().optional(),
      as_of: z.number().optional(),
    })
    .optional(),
});
export type Sim = z.output<typeof simSchema>;

const simPageSchema = z.looseObject({ sims: z.array(simSchema), next_cursor: z.string().nullable() });
const assetSimsSchema = z.looseObject({ sims: z.array(simSchema) });

const allowanceSchema = z.looseObject({
  bytes: z.number(),
  source: z.string(),
  used_bytes: z.number(),
  forecast_bytes: z.number(),
  exceeded_at: z.number().optional(),
  as_of: z.number().optional(),
});
export type Allowance = z.output<typeof allowanceSchema>;

const planSettingsSchema = z.looseObject({ deployments: planDeploymentsSchema });
export type PlanSettings = z.output<typeof planSettingsSchema>;

export interface SimQuery {
  readonly type?: string | undefined;
  readonly attention?: string | undefined;
  readonly limit?: number | undefined;
  readonly cursor?: string | undefined;
}

/** Fetches SIMs of all assets as their operators had them last. */
export function listSims(client: ApiClient, query: SimQuery): Promise<z.output<typeof simPageSchema>> {
  return client.json({ path: apiPath("v1", "sims"), query: { ...query } }, simPageSchema);
}

/** Fetches the SIMs of one asset as their operators had them last. */
export async function listAssetSims(client: ApiClient, asset: string): Promise<readonly Sim[]> {
  const { sims } = await client.json({ path: apiPath("v1", "assets", asset, "sims") }, assetSimsSchema);
  return sims;
}

/** Has the operator asked for the SIM now; within a minute of the last time, returns what it said then. */
export function refreshSim(client: ApiClient, asset: string, type: SimType): Promise<Sim> {
  return client.json({ method: "POST", path: pathOf(asset, type, "refresh") }, simSchema);
}

export function getAllowance(client: ApiClient, asset: string, type: SimType): Promise<Allowance> {
  return client.json({ path: pathOf(asset, type, "allowance") }, allowanceSchema);
}

/** @param bytes in a calendar month in UTC */
export function setAllowance(client: ApiClient, asset: string, type: SimType, bytes: number): Promise<Allowance> {
  return client.json({ method: "PUT", path: pathOf(asset, type, "allowance"), body: { bytes } }, allowanceSchema);
}

/** Removes the allowance that was set by hand. */
export function removeAllowance(client: ApiClient, asset: string, type: SimType): Promise<void> {
  return client.empty({ method: "DELETE", path: pathOf(asset, type, "allowance") });
}

export function getPlanSettings(client: ApiClient): Promise<PlanSettings> {
  return client.json({ path: PLAN_SETTINGS }, planSettingsSchema);
}

export function changePlanSettings(client: ApiClient, deployments: PlanDeployments): Promise<PlanSettings> {
  return client.json({ method: "PATCH", path: PLAN_SETTINGS, body: { deployments } }, planSettingsSchema);
}

const PLAN_SETTINGS = apiPath("v1", "data-plan-settings");

function pathOf(asset: string, type: SimType, what: string): string {
  return apiPath("v1", "assets", asset, "sims", type, what);
}
