import { unixNow } from "../../../lib/clock.ts";
import type { DeviceDataUsage } from "../../../protocol/link/data-usage.ts";
import { EdgeError } from "../../../protocol/errors/errors.ts";
import type { Asset } from "../../core/asset.ts";
import { mergeLedger } from "../../core/device-ledger.ts";
import type { DayRange } from "../../core/utc-days.ts";
import type { Dated } from "../../store/devices.ts";
import type { ApiContext } from "../context.ts";

/** A device's answer, or what is stored of it while the device is not reachable. */
export interface LiveOrStored<T> {
  readonly live: boolean;
  readonly value: T;
}

/** Queries the device; on `DeviceNotReachable` returns what `readStored` does. Throws every other error. */
export async function liveOrStored<T>(
  queryLive: () => Promise<T>,
  readStored: () => Promise<T>,
): Promise<LiveOrStored<T>> {
  try {
    return { live: true, value: await queryLive() };
  } catch (error) {
    if (!(error instanceof EdgeError) || error.code !== "DeviceNotReachable") throw error;
    return { live: false, value: await readStored() };
  }
}

/** Queries the device's data ledger for these days and merges the answer into the stored one. Errors: those of a query. */
export async function refreshLedger(
  { store, queries, clock }: ApiContext<"queries">,
  asset: Asset,
  days: DayRange,
  signal: AbortSignal,
): Promise<Dated<DeviceDataUsage>> {
  const answer = await queries.query(asset, "data_usage", days, signal);
  return store.devices.updateLedger(asset.uuid, (stored) => ({
    value: mergeLedger(stored?.value, answer),
    at: unixNow(clock),
  }));
}
