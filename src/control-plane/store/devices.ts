import type { DeviceDataUsage } from "../../protocol/link/data-usage.ts";
import type { DeviceReport } from "../core/device-report.ts";
import type { SessionFence } from "./sessions.ts";

/** A value from a device, with the time in Unix seconds when it was received. */
export interface Dated<T> {
  readonly value: T;
  readonly at: number;
}

/** A device's last report. */
export interface StoredReport extends Dated<DeviceReport> {
  /** Unix seconds since which the device holds back changes of it; `undefined` if it does not. */
  readonly heldSince: number | undefined;
}

/**
 * Data from devices, removed with their asset. Writing for an asset that does not exist does nothing. A write for a session
 * (`fence`) that is no longer the device's throws `StaleSessionError`.
 */
export interface DeviceStore {
  findReport(assetUuid: string): Promise<StoredReport | undefined>;
  /** Returns the hash of the stored report without reading the report. */
  findReportHash(assetUuid: string): Promise<string | undefined>;
  /** Stores since when the device holds back changes of its report; `undefined`: not any more. */
  recordHeld(assetUuid: string, since: number | undefined, fence?: SessionFence): Promise<void>;
  /**
   * Replaces the device's report, of which nothing is held back, if the stored one has this hash; `undefined` stands for
   * no stored report. Returns whether it was replaced.
   */
  replaceReport(
    assetUuid: string,
    storedHash: string | undefined,
    report: Dated<DeviceReport>,
    fence?: SessionFence,
  ): Promise<boolean>;
  findLedger(assetUuid: string): Promise<Dated<DeviceDataUsage> | undefined>;
  /**
   * Replaces the device's ledger atomically by the result of `decide`, which must be pure, since it is called again if
   * another change comes first. Returns its last result.
   */
  updateLedger(
    assetUuid: string,
    decide: (stored: Dated<DeviceDataUsage> | undefined) => Dated<DeviceDataUsage>,
  ): Promise<Dated<DeviceDataUsage>>;
}
