import type { DeviceDataUsage } from "../../../protocol/data-usage.ts";
import { unixNow } from "../../../lib/clock.ts";
import type { Asset } from "../../core/asset.ts";
import { mergeLedger } from "../../core/device-ledger.ts";
import type { DayRange } from "../../core/utc-days.ts";
import type { Dated } from "../../store/devices.ts";
import type { ApiContext } from "../context.ts";

/** What the device counted on these days, asked right now and kept with what it told before. Errors as of a question. */
export async function refreshLedger(
  { store, queries, clock }: Pick<ApiContext, "store" | "queries" | "clock">,
  asset: Asset,
  days: DayRange,
  signal: AbortSignal,
): Promise<Dated<DeviceDataUsage>> {
  const told = await queries.query(asset, "data_usage", days, signal);
  return store.devices.updateLedger(asset.uuid, (held) => ({
    value: mergeLedger(held?.value, told),
    at: unixNow(clock),
  }));
}
