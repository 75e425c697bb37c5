import type { DataUsageParams, DeviceDataUsage } from "../../protocol/link/data-usage.ts";
import type { DataPolicy } from "../core/traffic/data-budget.ts";
import { meteredUsage, toDataUsage } from "../core/traffic/data-usage.ts";
import { monthOf } from "../core/traffic/day.ts";
import type { TrafficLedger } from "./traffic-ledger.ts";

type Days = ReturnType<TrafficLedger["read"]>;

const NO_DAYS: Days = { traffic: [], interfaces: [] };

/** Reports the data usage in the ledger, with the budgets of the configuration. */
export class DataUsageReader {
  readonly #ledger: Pick<TrafficLedger, "read" | "today">;
  readonly #policy: DataPolicy;

  constructor(ledger: Pick<TrafficLedger, "read" | "today">, policy: DataPolicy) {
    this.#ledger = ledger;
    this.#policy = policy;
  }

  /** Data usage of the days `from` to `to`. Throws `StoreError` when the ledger cannot be read. */
  between({ from, to }: DataUsageParams): DeviceDataUsage {
    return this.#report(this.#ledger.read(from, to), this.#month());
  }

  /** Data usage of this month so far; no days when today is unknown. */
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
