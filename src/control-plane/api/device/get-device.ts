import type { z } from "zod";
import type { DeviceFacts } from "../../../protocol/app-report.ts";
import { type DeviceState, deviceStateSchema } from "../../../protocol/device-state.ts";
import { EdgeError } from "../../../protocol/errors.ts";
import type { Asset } from "../../core/asset.ts";
import { assetParams } from "../assets/asset-params.ts";
import { findAsset } from "../assets/find-asset.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";
import { presenceFields, presenceOf } from "./presence.ts";

const schema = deviceStateSchema.partial().extend(presenceFields).meta({ id: "Device" });

/** `GET /v1/assets/{asset_id}/edge/device`: the device right now, or as it told last. */
export function getDevice(api: Api, context: ApiContext): void {
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
      const asset = await findAsset(context.store, request, request.params.asset_id);
      const state = await askState(context, asset, streamSignal(request, reply, context));
      if (state) return { ...state, ...(await presenceOf(context, asset, Math.floor(context.clock.now() / 1000))) };
      const report = await context.store.devices.findReport(asset.uuid);
      const facts: Partial<DeviceFacts> = report?.value.device ?? {};
      return { ...facts, ...(await presenceOf(context, asset, report?.at)) };
    },
  );
}

/** The device's own answer; `undefined` while it cannot be reached. */
async function askState({ queries }: ApiContext, asset: Asset, signal: AbortSignal): Promise<DeviceState | undefined> {
  try {
    return await queries.ask(asset, "device", {}, signal);
  } catch (error) {
    if (error instanceof EdgeError && error.code === "DeviceNotReachable") return undefined;
    throw error;
  }
}
