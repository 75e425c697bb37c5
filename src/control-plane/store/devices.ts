import type { DeviceDataUsage } from "../../protocol/data-usage.ts";
import type { DeviceReport } from "../core/device-report.ts";

/** What a device told, and when; Unix seconds. */
export interface Dated<T> {
  readonly value: T;
  readonly at: number;
}

/** What devices told of themselves; gone with their asset. An asset that is gone meanwhile is no error. */
export interface DeviceStore {
  /** When the device was last connected; `undefined` when it never was. */
  findLastSeen(assetUuid: string): Promise<number | undefined>;
  /** When each of these devices was last connected, all in one go. */
  recordSeen(lastSeen: ReadonlyMap<string, number>): Promise<void>;
  findReport(assetUuid: string): Promise<Dated<DeviceReport> | undefined>;
  /** As in `findReport`, without reading it all. */
  findReportHash(assetUuid: string): Promise<string | undefined>;
  /**
   * Replaces the device's report, on the condition that the one that is held still has this hash; `undefined`: that none
   * is held. Answers whether it was replaced.
   */
  replaceReport(assetUuid: string, heldHash: string | undefined, report: Dated<DeviceReport>): Promise<boolean>;
  findLedger(assetUuid: string): Promise<Dated<DeviceDataUsage> | undefined>;
  /**
   * Reads the device's ledger, lets `decide` say what takes its place, and stores that, with nobody else in between.
   * `decide` must be pure, and may be called again where another change came first. Answers what it said last.
   */
  updateLedger(
    assetUuid: string,
    decide: (held: Dated<DeviceDataUsage> | undefined) => Dated<DeviceDataUsage>,
  ): Promise<Dated<DeviceDataUsage>>;
}
