import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { type AllowanceBody, allowanceRequestSchema, allowanceSchema } from "../../../protocol/assets/data-plan.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import { type SimType, simTypeSchema } from "../../../protocol/assets/sim.ts";
import type { Asset } from "../../core/asset.ts";
import type { AuditEntry } from "../../store/audit.ts";
import type { Allowance } from "../../store/data-plans.ts";
import type { DataPlanStatus } from "../../sims/data-plans.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import {
  changeResource,
  ifMatchHeaders,
  preconditionOf,
  type Resource,
  sendResource,
  stateOf,
} from "../conditional-requests.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../audit/audit-of.ts";

const PATH = "/v1/assets/:asset_id/sims/:sim_type/allowance";
const params = assetParams.extend({ sim_type: simTypeSchema.meta({ description: "Which SIM of the asset." }) });
const DOCS = { tags: ["Usage"], params };
const CHANGE_DOCS = { ...DOCS, headers: ifMatchHeaders };

/** `GET /v1/assets/{asset_id}/sims/{sim_type}/allowance`: the monthly allowance of a SIM, and its use. */
export function getAllowance(api: Api, { store, sims }: ApiContext<"sims">): void {
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
    async (request, reply) => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const type = requireSim(asset, request.params.sim_type);
      const status = await sims.plans.judge(asset, type);
      if (!status) throw new EdgeError("AllowanceNotFound");
      return sendResource(reply, toResource(asset, type, status));
    },
  );
}

/** `PUT /v1/assets/{asset_id}/sims/{sim_type}/allowance`: sets it by hand. */
export function setAllowance(api: Api, { store, sims, clock }: ApiContext<"sims">): void {
  api.put(
    PATH,
    {
      schema: {
        ...CHANGE_DOCS,
        operationId: "setAllowance",
        summary: "Set Allowance",
        description:
          "Sets how many bytes a month the SIM may use. It takes precedence over what the SIM operator says.",
        body: allowanceRequestSchema,
        response: {
          200: json("The allowance.", allowanceSchema),
          ...errorsWithBody("AssetNotFound", "SimNotFound", "SimOperatorFailed", "PreconditionFailed"),
        },
      },
    },
    async (request, reply) => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const type = requireSim(asset, request.params.sim_type);
      const { bytes } = request.body;
      const details = { sim_type: type, bytes };
      const facts = { action: "allowance.set", assetUuid: asset.uuid, subject: subjectOf(asset), details } as const;
      const audit = auditOf(request, clock, facts);
      await change({ store, sims }, request, reply, { asset, type, bytes, audit });
      const status = await sims.plans.judge(asset, type);
      // Another request has removed it meanwhile.
      if (!status) throw new EdgeError("SimNotFound");
      return sendResource(reply, toResource(asset, type, status));
    },
  );
}

/** `DELETE /v1/assets/{asset_id}/sims/{sim_type}/allowance`: what the operator says counts again. */
export function removeAllowance(api: Api, { store, sims, clock }: ApiContext<"sims">): void {
  api.delete(
    PATH,
    {
      schema: {
        ...CHANGE_DOCS,
        operationId: "removeAllowance",
        summary: "Remove Allowance",
        description:
          "Removes the allowance that was set: from now on the one that the SIM operator says counts, if it says one. Has no " +
          "further effect when repeated.",
        response: {
          204: z.undefined().meta({ description: "No allowance is set." }),
          ...errorsWithBody("AssetNotFound", "SimNotFound", "SimOperatorFailed", "PreconditionFailed"),
        },
      },
    },
    async (request, reply) => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const type = requireSim(asset, request.params.sim_type);
      const details = { sim_type: type };
      const facts = { action: "allowance.removed", assetUuid: asset.uuid, subject: subjectOf(asset), details } as const;
      const audit = auditOf(request, clock, facts);
      await change({ store, sims }, request, reply, { asset, type, bytes: undefined, audit });
      return reply.code(204).send();
    },
  );
}

interface AllowanceChange {
  readonly asset: Asset;
  readonly type: SimType;
  /** `undefined` removes what was set. */
  readonly bytes: number | undefined;
  readonly audit: AuditEntry;
}

async function change(
  { store, sims }: Pick<ApiContext, "store" | "sims">,
  request: FastifyRequest,
  reply: FastifyReply,
  { asset, type, bytes, audit }: AllowanceChange,
): Promise<void> {
  const present = async () => {
    const status = await sims.plans.judge(asset, type);
    return status && toResource(asset, type, status);
  };
  const precondition = preconditionOf(
    request,
    (allowance: Allowance | undefined) => allowance && stateOfAllowance(asset, type, allowance),
  );
  await changeResource(reply, present, () =>
    store.dataPlans.setAllowance(asset.uuid, type, bytes, audit, precondition),
  );
}

function stateOfAllowance({ uuid }: Asset, type: SimType, { bytes, source }: Allowance): string {
  return stateOf(uuid, type, bytes, source);
}

function toResource(asset: Asset, type: SimType, status: DataPlanStatus): Resource<AllowanceBody> {
  return { state: stateOfAllowance(asset, type, status.allowance), body: toBody(status) };
}

function requireSim(asset: Asset, type: SimType): SimType {
  if (asset[type] === undefined) throw new EdgeError("SimNotFound", undefined, { sim_type: type });
  return type;
}

function subjectOf({ uuid, name }: Asset) {
  return { kind: "asset", id: uuid, name };
}

function toBody({ allowance, forecast, asOf }: DataPlanStatus): AllowanceBody {
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
