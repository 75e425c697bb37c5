import { z } from "zod";
import { DEFAULT_PAGE_SIZE } from "../../../protocol/limits.ts";
import { cursorSchema, pageSizeSchema } from "../../../protocol/values/scalars.ts";
import { decodeDeploymentCursor, encodeDeploymentCursor } from "../../core/cursor.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiBase } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { deploymentListSchema, toDeploymentResponse } from "./deployment-resource.ts";

const query = z.strictObject({
  limit: pageSizeSchema.optional(),
  cursor: cursorSchema.optional(),
});

/** `GET /v1/assets/{asset_id}/edge/deployments`: the asset's deployments, newest first. */
export function listDeployments(api: Api, { store }: ApiBase): void {
  api.get(
    "/v1/assets/:asset_id/edge/deployments",
    {
      schema: {
        operationId: "listDeployments",
        summary: "Get Deployments",
        description: "The deployments of one asset, newest first. Those of the whole account are at `/v1/deployments`.",
        tags: ["Deployments"],
        params: assetParams,
        querystring: query,
        response: { 200: json("Newest first.", deploymentListSchema), ...errors("AssetNotFound") },
      },
    },
    async (request) => {
      const { limit = DEFAULT_PAGE_SIZE, cursor } = request.query;
      const asset = await findAsset(store, request, request.params.asset_id);
      const after = cursor === undefined ? undefined : decodeDeploymentCursor(cursor);
      const page = await store.deployments.listDeployments(asset.uuid, limit, after);
      return {
        deployments: page.deployments.map(toDeploymentResponse),
        next_cursor: page.next ? encodeDeploymentCursor(page.next) : null,
      };
    },
  );
}
