import { readUsage, type UsageSource } from "./read-usage.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import type { Asset } from "../core/asset.ts";
import type { DayUsage } from "../core/sims/plan-forecast.ts";
import type { TimeRange } from "../core/usage-period.ts";

/** Usage of a SIM by day. */
export interface DailyUsage {
  readonly days: readonly DayUsage[];
  /** When the operator said the last of it, in Unix seconds; `undefined` where usage is imported. */
  readonly asOf: number | undefined;
}

/** Where the usage comes from by which plans are judged. */
export interface DailyUsageReader {
  /** Returns the usage of whole UTC days. Errors: `SimNotFound`, `SimOperatorFailed`. */
  readDays(asset: Asset, type: SimType, range: TimeRange): Promise<DailyUsage>;
}

/** Reads what the endpoint of usage shows: imported, or as the operator counts it. */
export class ShownDailyUsage implements DailyUsageReader {
  readonly #source: UsageSource;

  constructor(source: UsageSource) {
    this.#source = source;
  }

  async readDays(asset: Asset, type: SimType, { start, end }: TimeRange): Promise<DailyUsage> {
    const query = { start_time: start, end_time: end, granularity: "day" } as const;
    const { totals, asOf } = await readUsage(this.#source, asset, type, query);
    const days = new Map<number, number>();
    // A day may have several network groups.
    for (const { periodStart = start, bytes } of totals) days.set(periodStart, (days.get(periodStart) ?? 0) + bytes);
    return { days: [...days].map(([day, bytes]) => ({ start: day, bytes: Math.min(bytes, MAX_BYTES) })), asOf };
  }
}

const MAX_BYTES = Number.MAX_SAFE_INTEGER;
