import { assetSchema } from "../../../protocol/assets/asset.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { createLegacy, LEGACY_HEADERS } from "../legacy-mirrors.ts";
import { assetParams, readAsset } from "../asset-resource.ts";
import { sendResource } from "../conditional-requests.ts";

/** `GET /v1/assets/{asset_id}`: one asset. */
export function getAsset(api: Api, context: ApiBase): void {
  const legacy = createLegacy(context);
  api.get(
    "/v1/assets/:asset_id",
    {
      schema: {
        operationId: "getAsset",
        summary: "Asset Details",
        description: "The asset with its SIMs, its connection and what needs attention.",
        tags: ["Assets"],
        params: assetParams,
        response: { 200: json("The asset.", assetSchema, LEGACY_HEADERS), ...errors("AssetNotFound") },
      },
    },
    async (request, reply) => {
      return sendResource(reply, await readAsset(context, legacy, request, reply, request.params.asset_id));
    },
  );
}
