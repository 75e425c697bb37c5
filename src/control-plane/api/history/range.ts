import { DEFAULT_HISTORY_DAYS } from "../../../protocol/assets/connectivity.ts";
import { invalidRequest } from "../../../protocol/errors/request-error.ts";
import type { HistoryRange } from "../../core/connectivity.ts";

const DAY_S = 86_400;

/** Returns the range of a query, which ends now at the latest. Error: `InvalidRequest` if it is empty or too long. */
export function resolveHistoryRange(
  query: { readonly from?: number | undefined; readonly to?: number | undefined },
  now: number,
  maxDays: number,
): HistoryRange {
  const to = Math.min(query.to ?? now, now);
  const from = query.from ?? Math.max(0, to - DEFAULT_HISTORY_DAYS * DAY_S);
  if (from >= to) throw invalidRequest([{ path: "from", reason: "must be before to, and before now" }]);
  if (to - from > maxDays * DAY_S)
    throw invalidRequest([{ path: "from", reason: `must be at most ${maxDays} days before to` }]);
  return { from, to };
}
