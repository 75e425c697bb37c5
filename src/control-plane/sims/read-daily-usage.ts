import type { SimType } from "../../protocol/assets/sim.ts";
import { type Asset, simTypes } from "../core/asset.ts";
import type { TimeRange } from "../core/usage-period.ts";
import { utcDay } from "../core/utc-days.ts";
import { readUsage, type UsageSource } from "./read-usage.ts";

/** Usage of one SIM in bytes by UTC day. Days without usage are left out. */
export interface DailySimUsage {
  readonly sim_type: SimType;
  readonly iccid: string;
  readonly days: { readonly day: string; readonly total: number }[];
  /** Unix seconds. */
  readonly finalized_until: number;
}

/** Reads the usage of each SIM of the asset. The range starts and ends at midnight UTC. Error: `SimOperatorFailed`. */
export function readDailyUsage(source: UsageSource, asset: Asset, range: TimeRange): Promise<DailySimUsage[]> {
  const query = { start_time: range.start, end_time: range.end, granularity: "day" } as const;
  return Promise.all(
    simTypes(asset).map(async (simType) => {
      const { totals, finalizedUntil } = await readUsage(source, asset, simType, query);
      const byDay = Map.groupBy(totals, ({ periodStart = range.start }) => utcDay(periodStart));
      const days = [...byDay].map(([day, each]) => ({ day, total: sum(each.map(({ bytes }) => bytes)) }));
      return { sim_type: simType, iccid: asset[simType]?.iccid ?? "", days, finalized_until: finalizedUntil };
    }),
  );
}

function sum(bytes: readonly number[]): number {
  return Math.min(
    bytes.reduce((total, each) => total + each, 0),
    Number.MAX_SAFE_INTEGER,
  );
}
