import { z } from "zod";
import { deviceSubject } from "../../access-watcher.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors } from "../docs/responses.ts";
import { assetParams, findAsset } from "./asset-resource.ts";

/** `DELETE /v1/assets/{asset_id}`: removes the asset; its device is disconnected and not let in again. */
export function removeAsset(api: Api, { store, deployments, access }: ApiContext): void {
  api.delete(
    "/v1/assets/:asset_id",
    {
      schema: {
        operationId: "removeAsset",
        summary: "Remove Asset",
        description:
          "Removes the asset with its SIMs and their usage. Its device is disconnected and its token is void; deployments " +
          "that are still running are cancelled, apps that run on the device keep running.",
        tags: ["Assets"],
        params: assetParams,
        response: { 204: z.undefined().meta({ description: "The asset is gone." }), ...errors("AssetNotFound") },
      },
    },
    async (request, reply) => {
      const { uuid } = await findAsset(store, request, request.params.asset_id);
      await store.assets.removeAsset(uuid);
      await deployments.cancelAll(uuid);
      // The token is void: this is where the device's session finds out.
      await access.recheck(deviceSubject(uuid));
      return reply.code(204).send();
    },
  );
}
