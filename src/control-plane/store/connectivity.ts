import type { ConnectionInterval, HistoryRange } from "../core/connectivity.ts";

/** How long it is kept when devices were connected, in days: thirteen months. */
export const CONNECTIVITY_KEPT_DAYS = 396;

/** A device that is back sooner was not away: its interval goes on, and counts the interruption. */
export const SHORT_INTERRUPTION_S = 60;

/** Intervals of a device that begin on one day, UTC. The last one goes on through later interruptions, and counts them. */
export const MAX_INTERVALS_PER_DAY = 24;

/**
 * When devices were connected. The database writes it with the sessions, on every path that opens, ends or resumes them: what is on record
 * as open is the session. Removed with its asset.
 */
export interface ConnectivityStore {
  /**
   * Returns the intervals that began within the range, and the last one that began before it, the newest first, at most `limit`.
   */
  list(assetUuid: string, range: HistoryRange, limit: number): Promise<readonly ConnectionInterval[]>;
  /** Removes intervals that ended before this time, in Unix seconds, at most `limit`. Returns how many. */
  removeOld(before: number, limit: number): Promise<number>;
}
