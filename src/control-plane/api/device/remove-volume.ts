import { z } from "zod";
import { volumeName } from "../../../protocol/volume-fields.ts";
import { ignoreContentTypeOfEmptyBody, refuseBody } from "../apps/no-body.ts";
import { assetParams, findAsset } from "../assets/asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";

const params = assetParams.extend({ name: volumeName.meta({ description: "Name of the volume." }) });

/** `DELETE /v1/assets/{asset_id}/edge/volumes/{name}`: deletes a volume that no app has, with its data. */
export function removeVolume(api: Api, context: ApiContext): void {
  api.delete(
    "/v1/assets/:asset_id/edge/volumes/:name",
    {
      schema: {
        operationId: "removeVolume",
        summary: "Remove Volume",
        description: "Deletes a volume of the device with its data. One that an app has is refused with `VolumeInUse`.",
        tags: ["Devices"],
        params,
        response: {
          204: z.undefined().meta({ description: "The volume was deleted." }),
          ...errors(
            "AssetNotFound",
            "InvalidRequest",
            "VolumeNotFound",
            "VolumeInUse",
            "DeviceNotReachable",
            "DeviceTooOld",
            "DeviceFailed",
            "EngineUnavailable",
          ),
        },
      },
      onRequest: ignoreContentTypeOfEmptyBody,
      preValidation: refuseBody,
    },
    async (request, reply) => {
      const { asset_id: id, name } = request.params;
      const asset = await findAsset(context.store, request, id);
      await context.queries.query(asset, "remove_volume", { name }, streamSignal(request, reply, context));
      return reply.status(204).send(undefined);
    },
  );
}
