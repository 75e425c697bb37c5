import { z } from "zod";
import { type AllowanceBody, allowanceRequestSchema, allowanceSchema } from "../../../protocol/assets/data-plan.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { type SimType, simTypeSchema } from "../../../protocol/assets/sim.ts";
import type { Asset } from "../../core/asset.ts";
import type { PlanStatus } from "../../sims/data-plans.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../people/audit-entry.ts";

const PATH = "/v1/assets/:asset_id/sims/:sim_type/allowance";
const params = assetParams.extend({ sim_type: simTypeSchema.meta({ description: "Which SIM of the asset." }) });
const DOCS = { tags: ["Usage"], params };

/** `GET /v1/assets/{asset_id}/sims/{sim_type}/allowance`: the monthly allowance of a SIM, and its use. */
export function getAllowance(api: Api, { store, dataPlans }: ApiContext): void {
  api.get(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "getAllowance",
        summary: "Get Allowance",
        description: "How many bytes a month the SIM may use, how many it has used, and when they will be used up.",
        response: {
          200: json("The allowance.", allowanceSchema),
          ...errors("AssetNotFound", "SimNotFound", "AllowanceNotFound", "SimOperatorFailed"),
        },
      },
    },
    async (request) => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const type = requireSim(asset, request.params.sim_type);
      const status = await dataPlans.judge(asset, type);
      if (!status) throw new EdgeError("AllowanceNotFound");
      return toBody(status);
    },
  );
}

/** `PUT /v1/assets/{asset_id}/sims/{sim_type}/allowance`: sets it by hand. */
export function setAllowance(api: Api, { store, dataPlans, clock }: ApiContext): void {
  api.put(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "setAllowance",
        summary: "Set Allowance",
        description:
          "Sets how many bytes a month the SIM may use. It takes precedence over what the SIM operator says.",
        body: allowanceRequestSchema,
        response: {
          200: json("The allowance.", allowanceSchema),
          ...errorsWithBody("AssetNotFound", "SimNotFound", "SimOperatorFailed"),
        },
      },
    },
    async (request) => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const type = requireSim(asset, request.params.sim_type);
      const { bytes } = request.body;
      const details = { sim_type: type, bytes };
      const facts = { action: "allowance.set", assetUuid: asset.uuid, subject: subjectOf(asset), details } as const;
      await store.dataPlans.setAllowance(asset.uuid, type, bytes, auditOf(request, clock, facts));
      const status = await dataPlans.judge(asset, type);
      // Another request has removed it meanwhile.
      if (!status) throw new EdgeError("SimNotFound");
      return toBody(status);
    },
  );
}

/** `DELETE /v1/assets/{asset_id}/sims/{sim_type}/allowance`: what the operator says counts again. */
export function removeAllowance(api: Api, { store, clock }: ApiContext): void {
  api.delete(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "removeAllowance",
        summary: "Remove Allowance",
        description:
          "Removes the allowance that was set: from now on the one that the SIM operator says counts, if it says one. Has no " +
          "further effect when repeated.",
        response: {
          204: z.undefined().meta({ description: "No allowance is set." }),
          ...errorsWithBody("AssetNotFound", "SimNotFound"),
        },
      },
    },
    async (request, reply) => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const type = requireSim(asset, request.params.sim_type);
      const details = { sim_type: type };
      const facts = { action: "allowance.removed", assetUuid: asset.uuid, subject: subjectOf(asset), details } as const;
      await store.dataPlans.setAllowance(asset.uuid, type, undefined, auditOf(request, clock, facts));
      return reply.code(204).send();
    },
  );
}

function requireSim(asset: Asset, type: SimType): SimType {
  if (asset[type] === undefined) throw new EdgeError("SimNotFound", undefined, { sim_type: type });
  return type;
}

function subjectOf({ uuid, name }: Asset) {
  return { kind: "asset", id: uuid, name };
}

function toBody({ allowance, forecast, asOf }: PlanStatus): AllowanceBody {
  return {
    bytes: allowance.bytes,
    source: allowance.source,
    period: "calendar_month",
    used_bytes: forecast.usedBytes,
    forecast_bytes: forecast.forecastBytes,
    ...(forecast.exceededAt !== undefined && { exceeded_at: forecast.exceededAt }),
    ...(asOf !== undefined && { as_of: asOf }),
  };
}
