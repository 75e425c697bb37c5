import { z } from "zod";
import { type PlanDeployments, planDeploymentsSchema } from "../../protocol/assets/data-plan.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import type { ApiClient } from "./client.ts";
import { type QueryOf, requestOf } from "./request.ts";

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

/** Fetches SIMs of all assets as their operators had them last. */
export function listSims(client: ApiClient, query: QueryOf<"GET /v1/sims">): Promise<z.output<typeof simPageSchema>> {
  return client.json(requestOf("GET /v1/sims", { query }), simPageSchema);
}

/** Fetches the SIMs of one asset as their operators had them last. */
export async function listAssetSims(client: ApiClient, asset: string): Promise<readonly Sim[]> {
  const request = requestOf("GET /v1/assets/{asset_id}/sims", { path: { asset_id: asset } });
  const { sims } = await client.json(request, assetSimsSchema);
  return sims;
}

/** Has the operator asked for the SIM now; within a minute of the last time, returns what it said then. */
export function refreshSim(client: ApiClient, asset: string, type: SimType): Promise<Sim> {
  return client.json(requestOf("POST /v1/assets/{asset_id}/sims/{sim_type}/refresh", pathOf(asset, type)), simSchema);
}

const ALLOWANCE = "/v1/assets/{asset_id}/sims/{sim_type}/allowance";

export function getAllowance(client: ApiClient, asset: string, type: SimType): Promise<Allowance> {
  return client.json(requestOf(`GET ${ALLOWANCE}`, pathOf(asset, type)), allowanceSchema);
}

/** @param bytes in a calendar month in UTC */
export function setAllowance(client: ApiClient, asset: string, type: SimType, bytes: number): Promise<Allowance> {
  return client.json(requestOf(`PUT ${ALLOWANCE}`, { ...pathOf(asset, type), body: { bytes } }), allowanceSchema);
}

/** Removes the allowance that was set by hand. */
export function removeAllowance(client: ApiClient, asset: string, type: SimType): Promise<void> {
  return client.empty(requestOf(`DELETE ${ALLOWANCE}`, pathOf(asset, type)));
}

export function getPlanSettings(client: ApiClient): Promise<PlanSettings> {
  return client.json(requestOf("GET /v1/data-plan-settings"), planSettingsSchema);
}

export function changePlanSettings(client: ApiClient, deployments: PlanDeployments): Promise<PlanSettings> {
  return client.json(requestOf("PATCH /v1/data-plan-settings", { body: { deployments } }), planSettingsSchema);
}

function pathOf(asset: string, type: SimType) {
  return { path: { asset_id: asset, sim_type: type } };
}
