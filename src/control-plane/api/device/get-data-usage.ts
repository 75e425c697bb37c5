import { z } from "zod";
import { type DeviceDataUsage, deviceDataUsageSchema, utcDaySchema } from "../../../protocol/data-usage.ts";
import { EdgeError } from "../../../protocol/errors.ts";
import { simTypeSchema } from "../../../protocol/sim.ts";
import { readDailyUsage } from "../../assets/read-daily-usage.ts";
import type { Asset } from "../../core/asset.ts";
import { mergeLedger, usageDays } from "../../core/device-ledger.ts";
import { type DayRange, resolveDays } from "../../core/utc-days.ts";
import type { Dated } from "../../store/devices.ts";
import { assetParams } from "../assets/asset-params.ts";
import { findAsset } from "../assets/find-asset.ts";
import type { Api, ApiContext } from "../context.ts";
import { errors, json } from "../docs/responses.ts";
import { streamSignal } from "../stream-signal.ts";
import { presenceFields, presenceOf } from "./presence.ts";

const query = z.strictObject({
  from: utcDaySchema
    .optional()
    .meta({ description: "First day, UTC; the first of the month unless given.", examples: ["2026-11-01"] }),
  to: utcDaySchema.optional().meta({ description: "Last day, UTC; today unless given.", examples: ["2026-11-30"] }),
});

const simTotal = z.object({ sim_type: simTypeSchema, total: z.int().min(0).meta({ description: "Bytes." }) });

const usageDay = z
  .object({
    day: utcDaySchema,
    device: deviceDataUsageSchema.shape.days.element.omit({ day: true }).nullable().meta({
      description: "What the device counted; null where it told nothing of that day.",
    }),
    sims: z.array(simTotal).meta({ description: "What the asset's SIMs used by the operator's count." }),
  })
  .meta({ id: "DataUsageDay" });

const schema = z
  .object({
    from: utcDaySchema,
    to: utcDaySchema,
    days: z.array(usageDay),
    deployments: deviceDataUsageSchema.shape.deployments,
    budget: deviceDataUsageSchema.shape.budget,
    ...presenceFields,
  })
  .meta({ id: "DataUsage" });

/** `GET /v1/assets/{asset_id}/edge/data-usage`: what the device sent and received, beside what its SIMs used. */
export function getDataUsage(api: Api, context: ApiContext): void {
  api.get(
    "/v1/assets/:asset_id/edge/data-usage",
    {
      schema: {
        operationId: "getDataUsage",
        summary: "Data Usage",
        description:
          "Bytes by day of UTC: what the device counted itself, by purpose, app and network interface, and what its SIMs " +
          "used on the same days. The device is asked while it is connected; otherwise it is what it told last. Days " +
          "without either are left out.",
        tags: ["Devices"],
        params: assetParams,
        querystring: query,
        response: {
          200: json("Oldest day first.", schema),
          ...errors("AssetNotFound", "InvalidRequest", "DeviceTooOld", "DeviceFailed", "SimOperatorFailed"),
        },
      },
    },
    async (request, reply) => {
      const asset = await findAsset(context.store, request, request.params.asset_id);
      const { days, range } = resolveDays(request.query, context.clock.now());
      const ledger = await readLedger(context, asset, days, streamSignal(request, reply, context));
      const sims = await readDailyUsage(context, asset, range);
      const presence = await presenceOf(context, asset, ledger?.at);
      const now = Math.floor(context.clock.now() / 1000);
      return {
        ...days,
        ...usageDays(ledger?.value, sims, days.from, days.to),
        budget: ledger?.value.budget ?? null,
        ...presence,
        // It is told when asked for, so it ages also while the device is connected.
        age_s: ledger ? Math.max(0, now - ledger.at) : null,
      };
    },
  );
}

/** What the device tells now, joined to what it told before; only the latter while it cannot be reached. */
async function readLedger(
  { store, queries, clock }: ApiContext,
  asset: Asset,
  days: DayRange,
  signal: AbortSignal,
): Promise<Dated<DeviceDataUsage> | undefined> {
  const held = await store.devices.findLedger(asset.uuid);
  try {
    const told = await queries.ask(asset, "data_usage", days, signal);
    const ledger = { value: mergeLedger(held?.value, told), at: Math.floor(clock.now() / 1000) };
    await store.devices.saveLedger(asset.uuid, ledger);
    return ledger;
  } catch (error) {
    if (error instanceof EdgeError && error.code === "DeviceNotReachable") return held;
    throw error;
  }
}
