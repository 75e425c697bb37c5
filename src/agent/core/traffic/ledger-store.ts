import type { CounterMark } from "./interface-traffic.ts";
import type { Day } from "./day.ts";
import type { InterfaceEntry, TrafficEntry } from "./entry.ts";

/** What is added to the stored ledger at one time. */
export interface LedgerChange {
  readonly traffic: readonly TrafficEntry[];
  readonly interfaces: readonly InterfaceEntry[];
  /** Takes the place of all marks there were. */
  readonly marks: readonly CounterMark[];
}

/** The ledger as it is stored: by day, and for a time by deployment. */
export interface LedgerStore {
  /** Adds up, all of it or nothing. Old days are left out, old deployments merged. Throws `StoreError`. */
  add(change: LedgerChange): void;
  marks(): readonly CounterMark[];
  /** The last day anything was counted on. */
  lastDay(): Day | undefined;
  /** What was counted on the days from `from` to `to`, both included, in order of the days. */
  traffic(from: Day, to: Day): readonly TrafficEntry[];
  interfaces(from: Day, to: Day): readonly InterfaceEntry[];
}
