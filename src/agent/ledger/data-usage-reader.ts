import type { DataUsageParams, DeviceDataUsage } from "../../protocol/data-usage.ts";
import type { DataPolicy } from "../core/traffic/data-budget.ts";
import { meteredUsage, toDataUsage } from "../core/traffic/data-usage.ts";
import { monthOf } from "../core/traffic/day.ts";
import type { TrafficLedger } from "./traffic-ledger.ts";

type Days = ReturnType<TrafficLedger["read"]>;

const NO_DAYS: Days = { traffic: [], interfaces: [] };

/** Says what data the device used, as the ledger has it and the configuration bounds it. */
export class DataUsageReader {
  readonly #ledger: Pick<TrafficLedger, "read" | "today">;
  readonly #policy: DataPolicy;

  constructor(ledger: Pick<TrafficLedger, "read" | "today">, policy: DataPolicy) {
    this.#ledger = ledger;
    this.#policy = policy;
  }

  /** The days asked for. Throws `StoreError` where the ledger cannot be read. */
  between({ from, to }: DataUsageParams): DeviceDataUsage {
    return this.#report(this.#ledger.read(from, to), this.#month());
  }

  /** This month so far, by day; without days where the day is not known. */
  thisMonth(): DeviceDataUsage & { readonly today: string | undefined } {
    const month = this.#month();
    return { ...this.#report(month, month), today: this.#ledger.today() };
  }

  #month(): Days {
    const today = this.#ledger.today();
    return today === undefined ? NO_DAYS : this.#ledger.read(monthOf(today), today);
  }

  #report(days: Days, month: Days): DeviceDataUsage {
    return toDataUsage(days, this.#policy, meteredUsage(month.traffic, this.#policy.metered, this.#ledger.today()));
  }
}
