import { assetSchema } from "../../../protocol/asset.ts";
import { toDetails } from "../../core/asset-view.ts";
import type { Api, ApiContext } from "../context.ts";
import { assetParams } from "./asset-params.ts";
import { findAsset } from "./find-asset.ts";

/** `GET /v1/assets/{asset_id}`: one asset. */
export function getAsset(api: Api, { store }: ApiContext): void {
  api.get(
    "/v1/assets/:asset_id",
    { schema: { params: assetParams, response: { 200: assetSchema } } },
    async (request) => toDetails(await findAsset(store, request, request.params.asset_id), false),
  );
}
