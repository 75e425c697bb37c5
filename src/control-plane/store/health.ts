import type { AppHealthRow } from "../../protocol/link/app-health.ts";
import type { HealthMetric } from "../../protocol/link/device-health.ts";
import type { HealthRow } from "../../protocol/link/health-points.ts";
import type { HistoryRange } from "../core/connectivity.ts";

/** How long rows of 15 minutes are kept, in days. After that they are rows of an hour. */
export const QUARTER_ROWS_KEPT_DAYS = 14;

/** How long rows of an hour are kept, in days: thirteen months. */
export const HEALTH_KEPT_DAYS = 396;

/** What is on record of a range. */
export interface StoredHealth {
  /** Seconds that a row covers, the longest of all. */
  readonly rowS: number;
  /** The oldest first. */
  readonly rows: readonly HealthRow[];
  /** What apps used in each hour, the oldest first. */
  readonly apps: readonly AppHealthRow[];
}

/** The newest row of a device: its start, Unix seconds, and its means. */
export interface NewestHealth {
  readonly at: number;
  readonly means: Partial<Readonly<Record<HealthMetric, number>>>;
  /** What apps used in the newest hour that is known. */
  readonly apps: AppHealthRow | undefined;
}

/**
 * How devices were, from the rows that they sent: one record for each device and day, so that a device takes a bounded number of
 * bytes, whatever it sends. Removed with its asset.
 */
export interface HealthStore {
  /**
   * Adds rows of 15 minutes at different times, in order. A time that is on record stays as it is, and what is for an asset that
   * was removed is dropped. Returns how many were added.
   *
   * @param apps what apps used, in hours of the days of these rows; those of other days are dropped
   */
  addRows(assetUuid: string, rows: readonly HealthRow[], apps?: readonly AppHealthRow[]): Promise<number>;
  /** Returns the rows of the days that the range touches. */
  listRows(assetUuid: string, range: HistoryRange): Promise<StoredHealth>;
  /** Returns the newest row of those of these devices that have one. */
  listNewest(assetUuids: readonly string[]): Promise<ReadonlyMap<string, NewestHealth>>;
  /** Makes rows of an hour of days before this one, at most `limit` days of one device each. Returns how many. */
  condenseDays(before: number, limit: number): Promise<number>;
  /** Removes condensed days before this one, at most `limit`. Returns how many. */
  removeDays(before: number, limit: number): Promise<number>;
}
