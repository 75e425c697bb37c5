import type { AuditEntry } from "./audit.ts";
import type { Granularity } from "../../protocol/assets/usage.ts";
import type { TimeRange } from "../core/usage-period.ts";
import type { UsageTotal } from "../core/usage-view.ts";

/** Maximum of `bytes` of one record: 1 TiB. Keeps sums within the integers of SQLite. */
export const MAX_RECORD_BYTES = 2 ** 40;

/** Bytes of one SIM from `startTime` until before `endTime` (Unix seconds), in one network group or profile. */
export interface UsageRecord {
  readonly iccid: string;
  /** Network group of a Super SIM, service profile of a PRO SIM. */
  readonly bucket: string;
  readonly startTime: number;
  readonly endTime: number;
  /** 0 to `MAX_RECORD_BYTES`. */
  readonly bytes: number;
}

export interface UsageStore {
  /**
   * Stores all records or, when the source throws, none. A record replaces an earlier one with the same ICCID, start and
   * bucket, so that an import can be repeated. Records with an ICCID of no asset are skipped. Returns how many were new or
   * have changed.
   *
   * @param audit returns the entry of the audit log for this number of records
   */
  recordUsage(records: AsyncIterable<UsageRecord>, audit?: (stored: number) => AuditEntry | undefined): Promise<number>;
  /** Returns totals of the records that begin within the range, by period and then bucket, without empty periods. */
  sumUsage(iccid: string, range: TimeRange, granularity: Granularity): Promise<readonly UsageTotal[]>;
}
