import { z } from "zod";
import { booleanString } from "../../../protocol/values/scalars.ts";
import { volumeListSchema } from "../../../protocol/apps/volume-list.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";

const query = z.strictObject({
  size: booleanString().optional().meta({
    description: "Whether to measure the volumes, for which the device reads all their directories.",
  }),
});

const schema = volumeListSchema.meta({ id: "VolumeList" });

/** `GET /v1/assets/{asset_id}/edge/volumes`: the volumes that the device's agent manages. */
export function listVolumes(api: Api, context: ApiContext<"accounts" | "queries">): void {
  api.get(
    "/v1/assets/:asset_id/edge/volumes",
    {
      schema: {
        operationId: "listVolumes",
        summary: "List Volumes",
        description:
          "The volumes that the device's agent manages (`volumes[].name` of an app), with the apps that have them. The " +
          "device is queried; nothing of the answer is stored.",
        tags: ["Devices"],
        params: assetParams,
        querystring: query,
        response: {
          200: json("By name.", schema),
          ...errors("AssetNotFound", "DeviceNotReachable", "DeviceTooOld", "DeviceFailed", "EngineUnavailable"),
        },
      },
    },
    async (request, reply): Promise<z.output<typeof schema>> => {
      const asset = await findAsset(context.store, request, request.params.asset_id);
      const { size = false } = request.query;
      return await context.queries.query(asset, "volumes", { size }, streamSignal(request, reply, context));
    },
  );
}
