import type { Granularity } from "../../protocol/usage.ts";
import type { TimeRange } from "../core/usage-period.ts";
import type { UsageTotal } from "../core/usage-view.ts";

/** Most bytes one record may hold: 1 TiB. Keeps every sum within what SQLite can add up. */
export const MAX_RECORD_BYTES = 2 ** 40;

/** Bytes one SIM used from `startTime` until before `endTime` (Unix seconds), under one network group or profile. */
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
   * Stores all records or, when the source throws, none. A record with the ICCID, start and bucket of an earlier one
   * replaces it, so that the same source may be read again. Records of an ICCID that no asset holds are left out.
   * Answers how many were stored, the same one twice counting once.
   */
  recordUsage(records: AsyncIterable<UsageRecord>): Promise<number>;
  /** Totals of the records that begin within the range, by period and then bucket. Empty periods are left out. */
  sumUsage(iccid: string, range: TimeRange, granularity: Granularity): Promise<readonly UsageTotal[]>;
}
