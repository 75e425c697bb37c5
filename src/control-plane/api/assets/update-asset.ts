import { assetUpdateSchema } from "../../../protocol/asset-request.ts";
import { assetSchema } from "../../../protocol/asset.ts";
import { parseAssetUpdate, planUpdate } from "../../core/asset-update.ts";
import { accountOf } from "../auth.ts";
import type { Api, ApiContext } from "../context.ts";
import { errorsWithBody, json } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy/legacy.ts";
import { assetParams, toAssetResponse } from "./asset-resource.ts";

/** `PATCH /v1/assets/{asset_id}`: updates name, status and network group, all or nothing. */
export function updateAsset(api: Api, context: ApiContext): void {
  const legacy = createLegacy(context);
  api.patch(
    "/v1/assets/:asset_id",
    {
      schema: {
        operationId: "updateAsset",
        summary: "Update Asset",
        description:
          "Everything is checked before anything changes. `status` goes to every SIM of the asset. When the SIM " +
          "operator fails half-way, the answer is 502 and `details` say which fields were changed and which were not.",
        tags: ["Assets"],
        params: assetParams,
        body: assetUpdateSchema,
        response: {
          200: json("The asset as it is now.", assetSchema, LEGACY_HEADERS),
          ...errorsWithBody(
            "AssetNotFound",
            "SimNotFound",
            "AssetHasNoSim",
            "UnknownNetworkGroup",
            "SimOperatorFailed",
          ),
        },
      },
      // Before the schema has its say: this knows why some fields are refused, and what to use.
      preValidation: async (request) => void parseAssetUpdate(request.body),
    },
    async (request, reply) => {
      const { params, body } = request;
      const asset = await context.assetUpdater.update(accountOf(request), params.asset_id, (asset, ownGroups) =>
        planUpdate(asset, body, ownGroups),
      );
      return toAssetResponse(asset, legacy, reply);
    },
  );
}
