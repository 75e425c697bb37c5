import { type Asset, simTypes } from "../core/asset.ts";
import type { SimDay } from "../core/device-ledger.ts";
import type { TimeRange } from "../core/usage-period.ts";
import { utcDay } from "../core/utc-days.ts";
import { readUsage, type UsageSource } from "./read-usage.ts";

/** What each SIM of the asset used on each day of a range that begins and ends at midnight UTC. Error: `SimOperatorFailed`. */
export async function readDailyUsage(source: UsageSource, asset: Asset, range: TimeRange): Promise<SimDay[]> {
  const query = { start_time: range.start, end_time: range.end, granularity: "day" } as const;
  const bySim = await Promise.all(
    simTypes(asset).map(async (simType) => {
      const { totals } = await readUsage(source, asset, simType, query);
      const byDay = Map.groupBy(totals, ({ periodStart = range.start }) => utcDay(periodStart));
      return [...byDay].map(([day, each]): SimDay => ({
        day,
        simType,
        bytes: Math.min(
          each.reduce((sum, { bytes }) => sum + bytes, 0),
          Number.MAX_SAFE_INTEGER,
        ),
      }));
    }),
  );
  return bySim.flat();
}
