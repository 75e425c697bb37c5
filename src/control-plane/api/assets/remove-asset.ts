import { z } from "zod";
import type { Api, ApiContext } from "../context.ts";
import { errors } from "../docs/responses.ts";
import { assetParams } from "./asset-params.ts";
import { findAsset } from "./find-asset.ts";

/** `DELETE /v1/assets/{asset_id}`: removes the asset; its device is disconnected and not let in again. */
export function removeAsset(api: Api, context: ApiContext): void {
  api.delete(
    "/v1/assets/:asset_id",
    {
      schema: {
        operationId: "removeAsset",
        summary: "Remove Asset",
        description:
          "Removes the asset with its SIMs and their usage. Its device is disconnected and its token is void; apps that " +
          "run on the device keep running.",
        tags: ["Assets"],
        params: assetParams,
        response: { 204: z.undefined().meta({ description: "The asset is gone." }), ...errors("AssetNotFound") },
      },
    },
    async (request, reply) => {
      const { uuid } = await findAsset(context.store, request, request.params.asset_id);
      await context.store.assets.removeAsset(uuid);
      return reply.code(204).send();
    },
  );
}
