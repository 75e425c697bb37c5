import { assetSchema } from "../../../protocol/asset.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy-mirrors.ts";
import { assetParams, findAssetWithState, stateTime, toAssetResponse } from "../asset-resource.ts";

/** `GET /v1/assets/{asset_id}`: one asset. */
export function getAsset(api: Api, context: ApiContext): void {
  const legacy = createLegacy(context);
  api.get(
    "/v1/assets/:asset_id",
    {
      schema: {
        operationId: "getAsset",
        summary: "Asset Details",
        tags: ["Assets"],
        params: assetParams,
        response: { 200: json("The asset.", assetSchema, LEGACY_HEADERS), ...errors("AssetNotFound") },
      },
    },
    async (request, reply) => {
      const time = stateTime(context);
      const found = await findAssetWithState(context.store, request, request.params.asset_id, time);
      const tags = await context.store.assetSettings.readTags(found.asset.uuid);
      return toAssetResponse(found, time, legacy, reply, tags);
    },
  );
}
