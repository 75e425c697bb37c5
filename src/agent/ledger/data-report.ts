import type { DataUsageParams, DeviceDataUsage } from "../../protocol/data-usage.ts";
import type { DataPolicy } from "../core/data-budget.ts";
import { meteredUsage, toDataUsage } from "../core/data-usage.ts";
import { monthOf } from "../core/traffic-day.ts";
import type { LedgerBook } from "./ledger-book.ts";

/** Says what data the device used, as the ledger has it and the configuration bounds it. */
export class DataReport {
  readonly #ledger: Pick<LedgerBook, "read" | "today">;
  readonly #policy: DataPolicy;

  constructor(ledger: Pick<LedgerBook, "read" | "today">, policy: DataPolicy) {
    this.#ledger = ledger;
    this.#policy = policy;
  }

  /** The days asked for. Throws `StoreError` where the ledger cannot be read. */
  between({ from, to }: DataUsageParams): DeviceDataUsage {
    const today = this.#ledger.today();
    const month = today === undefined ? [] : this.#ledger.read(monthOf(today), today).traffic;
    return toDataUsage(this.#ledger.read(from, to), this.#policy, meteredUsage(month, this.#policy.metered, today));
  }

  /** This month so far, by day; without days where the day is not known. */
  thisMonth(): DeviceDataUsage & { readonly today: string | undefined } {
    const today = this.#ledger.today();
    const until = today ?? "0000-00-00";
    const month = this.#ledger.read(monthOf(until), until);
    const usage = toDataUsage(month, this.#policy, meteredUsage(month.traffic, this.#policy.metered, today));
    return { ...usage, today };
  }
}
