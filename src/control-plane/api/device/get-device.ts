import { z } from "zod";
import { unixNow } from "../../../lib/clock.ts";
import { deviceFactsSchema } from "../../../protocol/app-report.ts";
import { deviceDataUsageSchema } from "../../../protocol/data-usage.ts";
import { deviceStateSchema } from "../../../protocol/device-state.ts";
import type { Asset } from "../../core/asset.ts";
import { ledgerInRange } from "../../core/device-ledger.ts";
import { utcDay } from "../../core/utc-days.ts";
import { assetParams } from "../assets/asset-params.ts";
import { findAsset } from "../assets/find-asset.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";
import { refreshLedger } from "./refresh-ledger.ts";
import { liveOrStored } from "./live-or-stored.ts";
import { presenceFields, presenceOf } from "./presence.ts";

const schema = z
  .object({
    device: z
      .union([deviceStateSchema, deviceFactsSchema])
      .nullable()
      .meta({ description: "Without what changes all the time where it is not live; null when it never told." }),
    data_usage: z.object({
      today: deviceDataUsageSchema.shape.days.element
        .nullable()
        .meta({ description: "What the device counted today, UTC; null where it told nothing of today." }),
      budget: deviceDataUsageSchema.shape.budget,
    }),
    live: z.boolean().meta({ description: "Whether the device was asked right now." }),
    ...presenceFields,
  })
  .meta({ id: "Device" });

type DeviceView = Pick<z.output<typeof schema>, "device" | "data_usage"> & { readonly at: number | undefined };

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
      const signal = streamSignal(request, reply, context);
      const { live, value } = await liveOrStored(
        () => queryLive(context, asset, signal),
        () => readStored(context, asset),
      );
      const { at, ...shown } = value;
      return { ...shown, live, ...(await presenceOf(context, asset, { at, isPushed: true })) };
    },
  );
}

async function queryLive(context: ApiContext, asset: Asset, signal: AbortSignal): Promise<DeviceView> {
  const nowS = unixNow(context.clock);
  const day = utcDay(nowS);
  const [device, ledger] = await Promise.all([
    context.queries.query(asset, "device", {}, signal),
    refreshLedger(context, asset, { from: day, to: day }, signal),
  ]);
  return { device, data_usage: toDataUsage(ledger.value, day), at: nowS };
}

async function readStored({ store, clock }: ApiContext, asset: Asset): Promise<DeviceView> {
  const report = await store.devices.findReport(asset.uuid);
  const ledger = await store.devices.findLedger(asset.uuid);
  const day = utcDay(clock.now() / 1000);
  return { device: report?.value.device ?? null, data_usage: toDataUsage(ledger?.value, day), at: report?.at };
}

function toDataUsage(ledger: Parameters<typeof ledgerInRange>[0], day: string): DeviceView["data_usage"] {
  const { days, budget } = ledgerInRange(ledger, { from: day, to: day });
  return { today: days[0] ?? null, budget };
}
