import { assetUpdateSchema } from "../../../protocol/assets/asset-request.ts";
import { type AssetBody, assetSchema } from "../../../protocol/assets/asset.ts";
import { parseAssetUpdate, planUpdate } from "../../core/asset-update.ts";
import { originOf } from "../audit/audit-of.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, json, withHeaders } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy-mirrors.ts";
import {
  assetParams,
  assetState,
  findAssetWithState,
  readAsset,
  stateTime,
  toAssetResponse,
} from "../asset-resource.ts";
import { changeResource, ifMatchHeaders, preconditionOf, type Resource } from "../conditional-requests.ts";

const CODES = [
  "AssetNotFound",
  "PreconditionFailed",
  "SimNotFound",
  "AssetHasNoSim",
  "UnknownNetworkGroup",
  "SimOperatorFailed",
] as const;

/** `PATCH /v1/assets/{asset_id}`: updates name, status and network group. */
export function updateAsset(api: Api, context: ApiContext<"assets">): void {
  const legacy = createLegacy(context);
  api.patch(
    "/v1/assets/:asset_id",
    {
      schema: {
        operationId: "updateAsset",
        summary: "Update Asset",
        description:
          "The whole request is validated before anything changes. `status` applies to every SIM of the asset. When the " +
          "SIM operator fails midway, the response is 502 and `details` list the fields that were and were not changed.",
        tags: ["Assets"],
        params: assetParams,
        headers: ifMatchHeaders,
        body: assetUpdateSchema,
        response: {
          200: json("The updated asset.", assetSchema, LEGACY_HEADERS),
          ...withHeaders(errorsWithBody(...CODES), 412, LEGACY_HEADERS),
        },
      },
      // Before the schema, since its errors say why a field is refused and what to use instead.
      preValidation: async (request) => void parseAssetUpdate(request.body),
    },
    async (request, reply) => {
      const { params, body } = request;
      const precondition = preconditionOf(request, assetState);
      const present = (): Promise<Resource<AssetBody>> => readAsset(context, legacy, request, reply, params.asset_id);
      const asset = await changeResource(reply, present, () =>
        context.assets.updater.update(originOf(request), params.asset_id, (current, ownGroups) => {
          precondition?.(current);
          return planUpdate(current, body, ownGroups);
        }),
      );
      const time = stateTime(context);
      const { state } = await findAssetWithState(context.store, request, asset.uuid, time);
      const tags = await context.store.assetSettings.readTags(asset.uuid);
      return toAssetResponse({ asset, state }, time, legacy, reply, tags);
    },
  );
}
