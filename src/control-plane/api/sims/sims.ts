import { unixNow } from "../../../lib/clock.ts";
import {
  type SimList,
  simListQuerySchema,
  simListSchema,
  type AssetSims,
  assetSimsSchema,
  simEntrySchema,
  type SimEntryBody,
} from "../../../protocol/assets/sim-list.ts";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errors, json, errorsWithBody } from "../docs/responses.ts";
import { type SimType, simTypeSchema } from "../../../protocol/assets/sim.ts";
import { simTypes } from "../../core/asset.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import { toPendingView } from "../../core/asset-view.ts";
import { periodOf } from "../../core/usage-period.ts";
import { toOperatorSim } from "../../sim-operator/sim-operator.ts";
import type { SimEntry, SimPosition } from "../../store/sims.ts";
import { isUuid } from "../../../protocol/values/scalars.ts";
import { decodeCursor, encodeCursor, invalidCursor } from "../../core/cursor.ts";

/** `GET /v1/sims`: the SIMs of the account's assets. */
export function listSims(api: Api, { store, clock }: ApiBase): void {
  api.get(
    "/v1/sims",
    {
      schema: {
        operationId: "listSims",
        summary: "Get SIMs",
        description:
          "The SIMs of the account's assets, with what their operators said of them last. No operator is asked for it.",
        tags: ["Assets"],
        querystring: simListQuerySchema,
        response: { 200: json("One page of SIMs.", simListSchema), ...errors() },
      },
    },
    async (request): Promise<SimList> => {
      const { type, attention, limit = DEFAULT_PAGE_SIZE, cursor } = request.query;
      const after = cursor === undefined ? undefined : simPositionOf(cursor);
      const found = await store.sims.listSims(accountOf(request), { type, attention }, limit + 1, after);
      const now = unixNow(clock);
      const page = found.slice(0, limit);
      const last = found.length > limit ? page.at(-1) : undefined;
      return { sims: page.map((entry) => toSimBody(entry, now)), next_cursor: last ? simCursorOf(last) : null };
    },
  );
}

/** `GET /v1/assets/{asset_id}/sims`: the SIMs of one asset. */
export function listAssetSims(api: Api, { store, clock }: ApiBase): void {
  api.get(
    "/v1/assets/:asset_id/sims",
    {
      schema: {
        operationId: "listAssetSims",
        summary: "Get SIMs of Asset",
        description: "The SIMs of the asset, with what their operators said of them last. No operator is asked for it.",
        tags: ["Assets"],
        params: assetParams,
        response: { 200: json("The SIMs.", assetSimsSchema), ...errors("AssetNotFound") },
      },
    },
    async (request): Promise<AssetSims> => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const find = (type: SimType) => store.sims.findSim(asset.accountId, asset.uuid, type);
      const entries = await Promise.all(simTypes(asset).map(find));
      // One that is missing was removed meanwhile.
      const now = unixNow(clock);
      return { sims: entries.flatMap((entry) => (entry ? [toSimBody(entry, now)] : [])) };
    },
  );
}

const params = assetParams.extend({ sim_type: simTypeSchema.meta({ description: "Which SIM of the asset." }) });

/** `POST /v1/assets/{asset_id}/sims/{sim_type}/refresh`: asks the operator of the SIM for its state. */
export function refreshSim(api: Api, { store, sims, clock }: ApiContext<"sims">): void {
  api.post(
    "/v1/assets/:asset_id/sims/:sim_type/refresh",
    {
      schema: {
        operationId: "refreshSim",
        summary: "Refresh SIM",
        description:
          "Asks the SIM's operator for its state, stores it, and returns it. The operator is asked at most once a minute for each " +
          "SIM: until then the response is the last answer. Where no operator serves the type, it is what is stored.",
        tags: ["Assets"],
        params,
        response: {
          200: json("The SIM.", simEntrySchema),
          ...errorsWithBody("AssetNotFound", "SimNotFound", "SimOperatorFailed"),
        },
      },
    },
    async (request): Promise<SimEntryBody> => {
      const { accountId, uuid } = await findAsset(store, request, request.params.asset_id);
      return toSimBody(await sims.refresher.refresh(accountId, uuid, request.params.sim_type), unixNow(clock));
    },
  );
}

/** Returns the SIM as the API shows it. @param now Unix seconds */
function toSimBody(entry: SimEntry, now: number): SimEntryBody {
  const { asset, type, isLost, operatorStatus, checkedAtMs } = entry;
  const sim = toOperatorSim(asset, type);
  if (!sim) throw new Error(`asset ${asset.uuid} has no ${type}`);
  const { status, networkGroup, pending } = sim.state;
  const serviceProfile = type === "prosim" ? asset.prosim?.serviceProfile : undefined;
  return {
    type,
    iccid: sim.iccid,
    asset_id: asset.uuid,
    asset_name: asset.name,
    serial_number: asset.serialNumber,
    status,
    ...(operatorStatus !== undefined && { operator_status: operatorStatus }),
    ...(networkGroup !== undefined && { network_group: networkGroup }),
    ...(serviceProfile !== undefined && { service_profile: serviceProfile }),
    ...(pending && { pending: toPendingView(pending) }),
    lost: isLost,
    checked_at: checkedAtMs === undefined ? null : Math.floor(checkedAtMs / 1000),
    ...allowanceOf(entry, now),
  };
}

function allowanceOf({ allowance, planUsage: usage }: SimEntry, now: number): Pick<SimEntryBody, "allowance"> {
  if (!allowance) return {};
  // The allowance begins anew with each month: what was counted before says nothing of this one.
  const isOfThisMonth = usage !== undefined && usage.asOf >= periodOf(now, "month").start;
  return {
    allowance: {
      ...allowance,
      period: "calendar_month",
      ...(isOfThisMonth && { used_bytes: usage.usedBytes, forecast_bytes: usage.forecastBytes, as_of: usage.asOf }),
    },
  };
}

const CURSOR = /^([0-9]{1,12}) (\S{36}) ([a-z]{1,16})$/;

/** Returns an opaque cursor for the position after this SIM. */
export function simCursorOf({ asset: { createdAt, uuid }, type }: Pick<SimEntry, "asset" | "type">): string {
  return encodeCursor(`${createdAt} ${uuid} ${type}`);
}

/** Error: `InvalidRequest` for anything that `simCursorOf` did not create. */
export function simPositionOf(cursor: string): SimPosition {
  const [, createdAt, assetUuid = "", type] = CURSOR.exec(decodeCursor(cursor)) ?? [];
  const parsed = simTypeSchema.safeParse(type);
  if (!parsed.success || !isUuid(assetUuid)) throw invalidCursor();
  return { createdAt: Number(createdAt), assetUuid, type: parsed.data };
}
