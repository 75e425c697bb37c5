import type { CounterMark } from "./interface-traffic.ts";
import type { Day } from "./day.ts";
import type { InterfaceEntry, TrafficEntry } from "./entry.ts";

/** One addition to the stored ledger. */
export interface LedgerChange {
  readonly traffic: readonly TrafficEntry[];
  readonly interfaces: readonly InterfaceEntry[];
  /** Replaces all stored marks. */
  readonly marks: readonly CounterMark[];
}

/** The stored ledger: by day, and for a limited time by deployment. */
export interface LedgerStore {
  /** Adds a change atomically. Removes old days and merges old deployments. Throws `StoreError`. */
  add(change: LedgerChange): void;
  marks(): readonly CounterMark[];
  /** The last day with traffic. */
  lastDay(): Day | undefined;
  /** Traffic of the days `from` to `to`, both included, ordered by day. */
  traffic(from: Day, to: Day): readonly TrafficEntry[];
  interfaces(from: Day, to: Day): readonly InterfaceEntry[];
}
