import { type Clock, pause } from "../../lib/clock.ts";
import { forecastFrom, isBudgetLow } from "../core/traffic/budget-forecast.ts";
import type { DataPolicy } from "../core/traffic/data-budget.ts";
import { dayOf } from "../core/traffic/day.ts";
import type { TrafficLedger } from "./traffic-ledger.ts";

/** Between two looks, each of which reads the days of the month. */
const LOOK_INTERVAL_MS = 3_600_000;

export interface BudgetWatchOptions {
  readonly policy: Pick<DataPolicy, "metered" | "monthlyBytes">;
  readonly ledger: Pick<TrafficLedger, "read">;
  readonly clock: Clock;
}

/** Watches whether the data budget of the month lasts until its end. */
export class BudgetWatch {
  readonly #options: BudgetWatchOptions;
  readonly #watchers = new Set<() => void>();
  #isLow = false;

  constructor(options: BudgetWatchOptions) {
    this.#options = options;
  }

  /** As of the last look. */
  get isLow(): boolean {
    return this.#isLow;
  }

  /** Calls `watcher` when the budget will not last, and when it will again, until disposed. */
  onChange(watcher: () => void): Disposable {
    this.#watchers.add(watcher);
    return { [Symbol.dispose]: () => this.#watchers.delete(watcher) };
  }

  /** Looks at intervals until the signal aborts; never without a budget of the month. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && this.#options.policy.monthlyBytes !== undefined) {
      this.#look();
      await pause(this.#options.clock, LOOK_INTERVAL_MS, signal);
    }
  }

  #look(): void {
    const { policy, ledger, clock } = this.#options;
    const { monthlyBytes, metered } = policy;
    const nowMs = clock.now();
    const today = dayOf(nowMs);
    // Without a clock there is no month.
    if (monthlyBytes === undefined || today === undefined) return;
    try {
      const { traffic } = ledger.read(forecastFrom(today), today);
      const isLow = isBudgetLow({ traffic, metered, monthlyBytes, today, nowMs, wasLow: this.#isLow });
      if (isLow === this.#isLow) return;
      this.#isLow = isLow;
    } catch {
      // A ledger that cannot be read says nothing new; the store tells of its trouble itself.
      return;
    }
    for (const watcher of this.#watchers) watcher();
  }
}
