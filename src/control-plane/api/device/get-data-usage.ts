import { z } from "zod";
import { type DeviceDataUsage, deviceDataUsageSchema, utcDaySchema } from "../../../protocol/link/data-usage.ts";
import { simTypeSchema } from "../../../protocol/assets/sim.ts";
import { unixSeconds } from "../../../protocol/values/scalars.ts";
import { readDailyUsage } from "../../sims/read-daily-usage.ts";
import { ledgerInRange } from "../../core/device-ledger.ts";
import { resolveDays } from "../../core/utc-days.ts";
import type { Dated } from "../../store/devices.ts";
import { assetParams, findAsset } from "../asset-resource.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";
import { liveOrStored, refreshLedger } from "./live-or-stored.ts";
import { presenceFields, presenceOf } from "./presence.ts";

const query = z.strictObject({
  from: utcDaySchema.optional().meta({ description: "First day, UTC; the first of the month by default." }),
  to: utcDaySchema.optional().meta({ description: "Last day, UTC; today by default." }),
});

const simUsage = z
  .object({
    sim_type: simTypeSchema.meta({ description: "Type of the SIM." }),
    iccid: z.string().meta({ description: "ICCID of the SIM." }),
    days: z
      .array(
        z.object({
          day: utcDaySchema.meta({ description: "The day, UTC." }),
          total: z.int().min(0).meta({ description: "Bytes." }),
        }),
      )
      .meta({ description: "Usage by day, oldest first." }),
    finalized_until: unixSeconds("Usage before this time is final."),
  })
  .meta({ id: "SimDataUsage" });

const schema = z
  .object({
    from: utcDaySchema.meta({ description: "First day of the answer, UTC." }),
    to: utcDaySchema.meta({ description: "Last day of the answer, UTC." }),
    ...deviceDataUsageSchema.shape,
    sims: z
      .array(simUsage)
      .meta({ description: "Usage of the asset's SIMs on these days, as counted by the operator." }),
    live: z.boolean().meta({ description: "Whether the device was queried for this response." }),
    ...presenceFields,
  })
  .meta({ id: "DataUsage" });

/** `GET /v1/assets/{asset_id}/edge/data-usage`: data usage of the device and of its SIMs. */
export function getDataUsage(api: Api, context: ApiContext<"accounts" | "queries" | "sims">): void {
  api.get(
    "/v1/assets/:asset_id/edge/data-usage",
    {
      schema: {
        operationId: "getDataUsage",
        summary: "Data Usage",
        description:
          "Bytes by UTC day: as counted by the device, by purpose, app and network interface, and usage of " +
          "its SIMs on the same days. A connected device is queried; otherwise its last answer is returned. " +
          "Days without usage are left out.",
        tags: ["Devices"],
        params: assetParams,
        querystring: query,
        response: {
          200: json("Oldest day first.", schema),
          ...errors("AssetNotFound", "DeviceTooOld", "DeviceFailed", "EngineUnavailable", "SimOperatorFailed"),
        },
      },
    },
    async (request, reply): Promise<z.output<typeof schema>> => {
      const asset = await findAsset(context.store, request, request.params.asset_id);
      const { days, range } = resolveDays(request.query, context.clock.now());
      const signal = streamSignal(request, reply, context);
      const { live, value: ledger } = await liveOrStored<Dated<DeviceDataUsage> | undefined>(
        () => refreshLedger(context, asset, days, signal),
        () => context.store.devices.findLedger(asset.uuid),
      );
      const sims = await readDailyUsage(context, asset, range);
      // The ledger is not pushed, so it ages also while the device is connected.
      const session = await context.store.sessions.find(asset.uuid);
      const presence = presenceOf(context, session, { at: ledger?.at, isPushed: false });
      return { ...days, ...ledgerInRange(ledger?.value, days), sims, live, ...presence };
    },
  );
}
