import { z } from "zod";
import { unixNow } from "../../../lib/clock.ts";
import { deviceFactsSchema } from "../../../protocol/apps/app-report.ts";
import { deviceDataUsageSchema } from "../../../protocol/link/data-usage.ts";
import { deviceStateSchema } from "../../../protocol/link/device-state.ts";
import type { Asset } from "../../core/asset.ts";
import { ledgerInRange } from "../../core/device-ledger.ts";
import { utcDay } from "../../core/utc-days.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiBase, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";
import { liveOrStored, refreshLedger } from "./live-or-stored.ts";
import { presenceFields, presenceOf } from "./presence.ts";

const schema = z
  .object({
    device: z.union([deviceStateSchema, deviceFactsSchema]).nullable().meta({
      description:
        "The complete state when live; otherwise only the facts last reported, or null when there is no report.",
    }),
    data_usage: z
      .object({
        today: deviceDataUsageSchema.shape.days.element
          .nullable()
          .meta({ description: "Bytes counted by the device today, UTC; null when it has sent none for today." }),
        budget: deviceDataUsageSchema.shape.budget,
      })
      .meta({ description: "Data usage of the device today, and its budget." }),
    live: z.boolean().meta({ description: "Whether the device was queried for this response." }),
    ...presenceFields,
  })
  .meta({ id: "Device" });

type DeviceView = Pick<z.output<typeof schema>, "device" | "data_usage"> & {
  readonly at: number | undefined;
  readonly heldSince?: number | undefined;
};

/** `GET /v1/assets/{asset_id}/edge/device`: the current state of the device, or the last report. */
export function getDevice(api: Api, context: ApiContext<"accounts" | "queries">): void {
  api.get(
    "/v1/assets/:asset_id/edge/device",
    {
      schema: {
        operationId: "getDevice",
        summary: "Device State",
        description:
          "The state of the asset's device. While it is connected it is queried; otherwise its last report is returned, " +
          "with its age and without values that change all the time.",
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
      const { at, heldSince, ...shown } = value;
      const session = await context.store.sessions.find(asset.uuid);
      return { ...shown, live, ...presenceOf(context, session, { at, heldSince, isPushed: true }) };
    },
  );
}

async function queryLive(context: ApiContext<"queries">, asset: Asset, signal: AbortSignal): Promise<DeviceView> {
  const nowS = unixNow(context.clock);
  const day = utcDay(nowS);
  const [device, ledger] = await Promise.all([
    context.queries.query(asset, "device", {}, signal),
    refreshLedger(context, asset, { from: day, to: day }, signal),
  ]);
  return { device, data_usage: toDataUsage(ledger.value, day), at: nowS };
}

async function readStored({ store, clock }: ApiBase, asset: Asset): Promise<DeviceView> {
  const report = await store.devices.findReport(asset.uuid);
  const ledger = await store.devices.findLedger(asset.uuid);
  const day = utcDay(clock.now() / 1000);
  return {
    device: report?.value.device ?? null,
    data_usage: toDataUsage(ledger?.value, day),
    at: report?.at,
    heldSince: report?.heldSince,
  };
}

function toDataUsage(ledger: Parameters<typeof ledgerInRange>[0], day: string): DeviceView["data_usage"] {
  const { days, budget } = ledgerInRange(ledger, { from: day, to: day });
  return { today: days[0] ?? null, budget };
}
