import { HEALTH_REPORT_ROW_S } from "../link/health-rows.ts";
import { LEVEL_MARGIN, type LevelLimit } from "./condition.ts";

/** When levels count: beyond a limit on one side of it, for so long. */
export interface Threshold extends Pick<LevelLimit, "side" | "limit"> {
  readonly forS: number;
}

/** Returns the limit from which on a level may count that was beyond the other one. */
export function withMargin({ side, limit }: Pick<LevelLimit, "side" | "limit">): number {
  return side === "above" ? limit - LEVEL_MARGIN : limit + LEVEL_MARGIN;
}

/**
 * Returns how long levels have counted up to the newest one, in seconds, from 0 on: less than `forS` if they were beyond the limit for
 * less. Those that were for long enough count until one is back by the margin. The service and its devices judge alike by this.
 *
 * @param levels means of rows that follow each other without a gap, the newest first
 */
export function secondsBeyond(levels: readonly number[], { side, limit, forS }: Threshold): number {
  const isBeyond = (level: number, of = limit): boolean => (side === "above" ? level > of : level < of);
  const returned = levels.findIndex((level) => !isBeyond(level, withMargin({ side, limit })));
  const near = returned < 0 ? levels : levels.slice(0, returned);
  let lasting = 0;
  let isLongEnough = false;
  for (const level of near.toReversed()) {
    lasting = isLongEnough || isBeyond(level) ? lasting + HEALTH_REPORT_ROW_S : 0;
    isLongEnough ||= lasting > 0 && lasting >= forS;
  }
  return lasting;
}
