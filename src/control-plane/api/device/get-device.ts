import { z } from "zod";
import { deviceFactsSchema } from "../../../protocol/app-report.ts";
import { deviceStateSchema } from "../../../protocol/device-state.ts";
import { assetParams } from "../assets/asset-params.ts";
import { findAsset } from "../assets/find-asset.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";
import { askOrRecall } from "./ask-or-recall.ts";
import { presenceFields, presenceOf } from "./presence.ts";

const schema = z
  .object({
    device: z
      .union([deviceStateSchema, deviceFactsSchema])
      .nullable()
      .meta({ description: "Without what changes all the time where it is not live; null when it never told." }),
    live: z.boolean().meta({ description: "Whether the device was asked right now." }),
    ...presenceFields,
  })
  .meta({ id: "Device" });

type Shown = z.output<typeof schema>["device"];

/** `GET /v1/assets/{asset_id}/edge/device`: the device right now, or as it told last. */
export function getDevice(api: Api, context: ApiContext): void {
  const { store, queries, clock } = context;
  api.get(
    "/v1/assets/:asset_id/edge/device",
    {
      schema: {
        operationId: "getDevice",
        summary: "Device State",
        description:
          "The asset's device, asked right now while it is connected. While it is away: what it told last, with its age, " +
          "and without what changes all the time.",
        tags: ["Devices"],
        params: assetParams,
        response: {
          200: json("The device.", schema),
          ...errors("AssetNotFound", "DeviceTooOld", "EngineUnavailable", "DeviceFailed"),
        },
      },
    },
    async (request, reply): Promise<z.output<typeof schema>> => {
      const asset = await findAsset(store, request, request.params.asset_id);
      const signal = streamSignal(request, reply, context);
      const { live, value } = await askOrRecall<{ device: Shown; at: number | undefined }>(
        async () => ({
          device: await queries.ask(asset, "device", {}, signal),
          at: Math.floor(clock.now() / 1000),
        }),
        async () => {
          const report = await store.devices.findReport(asset.uuid);
          return { device: report?.value.device ?? null, at: report?.at };
        },
      );
      const presence = await presenceOf(context, asset, { at: value.at, isKeptCurrent: true });
      return { device: value.device, live, ...presence };
    },
  );
}
