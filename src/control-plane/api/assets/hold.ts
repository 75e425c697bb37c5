import { z } from "zod";
import { unixNow } from "../../../lib/clock.ts";
import { type HoldBody, holdRequestSchema, holdSchema } from "../../../protocol/assets/asset-settings.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import type { Hold } from "../../store/asset-settings.ts";
import type { Asset } from "../../core/asset.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, errorsWithBody, json } from "../docs/responses.ts";
import { auditOf } from "../people/audit-entry.ts";
import { personOf } from "../auth.ts";
import { assetParams, findAsset } from "../asset-resource.ts";

const PATH = "/v1/assets/:asset_id/hold";
const DOCS = { tags: ["Assets"], params: assetParams };

/** `GET /v1/assets/{asset_id}/hold`: whether an asset is held, and why. */
export function getHold(api: Api, { store, clock }: ApiContext): void {
  api.get(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "getAssetHold",
        summary: "Get Hold",
        description:
          "The hold of the asset, while it is held: nothing but commands of people reaches it. `HoldNotFound` otherwise.",
        response: { 200: json("The hold.", holdSchema), ...errors("AssetNotFound", "HoldNotFound") },
      },
    },
    async (request): Promise<HoldBody> => {
      const { uuid } = await findAsset(store, request, request.params.asset_id);
      const hold = await store.assetSettings.findHold(uuid);
      const isOver = hold?.untilMs !== undefined && hold.untilMs <= clock.now();
      if (!hold || isOver) throw new EdgeError("HoldNotFound");
      return toHoldBody(hold);
    },
  );
}

/** `PUT /v1/assets/{asset_id}/hold`: holds an asset. */
export function setHold(api: Api, { store, clock }: ApiContext): void {
  api.put(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "holdAsset",
        summary: "Hold Asset",
        description:
          "Holds the asset, or changes its hold: fleets leave it alone until then. Deployments under way go on, and commands of " +
          "people are carried out as ever.",
        body: holdRequestSchema,
        response: { 200: json("The hold.", holdSchema), ...errorsWithBody("AssetNotFound") },
      },
    },
    async (request): Promise<HoldBody> => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const { reason, until } = request.body;
      if (until !== undefined && until <= unixNow(clock)) {
        throw invalidRequest([{ path: "until", reason: "is not in the future" }]);
      }
      const setBy = personOf(request);
      const untilMs = until === undefined ? undefined : until * 1000;
      const hold: Hold = { reason, untilMs, setAtMs: clock.now(), setBy };
      const details = { reason, until };
      const facts = { action: "asset.held", assetUuid: asset.uuid, subject: subjectOf(asset), details } as const;
      const result = await store.assetSettings.changeHold(asset.uuid, hold, auditOf(request, clock, facts));
      if (result === "no_asset") throw new EdgeError("AssetNotFound");
      return toHoldBody((await store.assetSettings.findHold(asset.uuid)) ?? hold);
    },
  );
}

/** `DELETE /v1/assets/{asset_id}/hold`: releases an asset. */
export function releaseHold(api: Api, { store, clock }: ApiContext): void {
  api.delete(
    PATH,
    {
      schema: {
        ...DOCS,
        operationId: "releaseAsset",
        summary: "Release Asset",
        description: "Ends the hold of the asset. Has no further effect when repeated.",
        response: {
          204: z.undefined().meta({ description: "The asset is not held." }),
          ...errorsWithBody("AssetNotFound"),
        },
      },
    },
    async (request, reply) => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const facts = { action: "asset.released", assetUuid: asset.uuid, subject: subjectOf(asset) } as const;
      await store.assetSettings.changeHold(asset.uuid, undefined, auditOf(request, clock, facts));
      return reply.code(204).send();
    },
  );
}

function subjectOf({ uuid, name }: Asset) {
  return { kind: "asset", id: uuid, name };
}

function toHoldBody({ reason, untilMs, setAtMs, setBy }: Hold): HoldBody {
  return {
    reason,
    until: untilMs === undefined ? null : Math.floor(untilMs / 1000),
    set_at: Math.floor(setAtMs / 1000),
    set_by: setBy,
  };
}
