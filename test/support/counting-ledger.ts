import type { Ledger, Traffic } from "../../src/agent/ledger/ledger.ts";

/** A ledger that keeps every entry. */
export class CountingLedger implements Ledger {
  readonly entries: Traffic[] = [];

  count(traffic: Traffic): void {
    this.entries.push(traffic);
  }

  /** Total bytes of the entries that match. */
  bytes(which: (traffic: Traffic) => boolean = () => true): number {
    return this.entries.filter(which).reduce((sum, { bytes }) => sum + bytes, 0);
  }
}
