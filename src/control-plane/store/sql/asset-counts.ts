import type { AttentionReason } from "../../../protocol/assets/attention.ts";
import { NEW_ASSET_STATE, reasonsOf, TIMELESS_BITS } from "../../core/attention.ts";
import type { AssetCounts, StateTime } from "../assets.ts";
import { isConnectedSql, lastSeenSql, renewalOffset } from "./asset-row.ts";
import type { Executor } from "./executor.ts";

/** Each is answered from an index of `asset_states` that holds no other rows. */
const CONNECTED = /* sql */ `
  SELECT count(*) AS found FROM asset_states t WHERE t.account_id = ?1 AND ${isConnectedSql("?2")}`;
/** Devices whose instance has died have no session either, but are not in the index of those that have none. */
const HELD_BY_DEAD = /* sql */ `
  SELECT count(*) AS found, coalesce(sum(CASE WHEN t.reasons = 0 THEN 1 ELSE 0 END), 0) AS others
  FROM asset_states t WHERE t.account_id = ?1 AND t.instance_id IS NOT NULL AND t.last_seen_at < ?3
    AND NOT ${isConnectedSql("?2")} AND ${lastSeenSql("?2", "?4")} < ?3`;
const NEVER = /* sql */ `
  SELECT count(*) AS found FROM asset_states t
  WHERE t.account_id = ? AND t.instance_id IS NULL AND t.last_seen_at IS NULL`;
/** `others`: without any other reason. */
const NOT_SEEN = /* sql */ `
  SELECT count(*) AS found, coalesce(sum(CASE WHEN t.reasons = 0 THEN 1 ELSE 0 END), 0) AS others
  FROM asset_states t WHERE t.account_id = ? AND t.instance_id IS NULL AND t.last_seen_at < ?`;
/** With the bit of a spent budget alone the asset may have no reason any more. */
const REASONS = /* sql */ `
  SELECT t.reasons AS bits, CASE WHEN t.budget_spent_until > ?2 THEN ?2 + 1 END AS until, count(*) AS found
  FROM asset_states t WHERE t.account_id = ?1 AND t.reasons <> 0 GROUP BY 1, 2`;
/** Assets that are counted as not seen alone, though they have the bit of a budget that was spent some time ago. */
const ONCE_SPENT = /* sql */ `
  SELECT count(*) AS found FROM asset_states t
  WHERE t.account_id = ?1 AND t.reasons <> 0 AND (t.reasons & ${TIMELESS_BITS}) = 0 AND t.budget_spent_until <= ?2
    AND t.last_seen_at < ?3 AND NOT ${isConnectedSql("?4")} AND ${lastSeenSql("?4", "?5")} < ?3`;
const ALL = "SELECT asset_count AS found FROM accounts WHERE id = ?";
const RUNNING = "SELECT count(*) AS found FROM deployments WHERE account_id = ? AND status = 'Running'";

interface CountRow {
  readonly found: number;
}

interface NotSeenRow extends CountRow {
  readonly others: number;
}

interface ReasonsRow extends CountRow {
  readonly bits: number;
  readonly until: number | null;
}

/** Counts the assets of an account. */
export async function countAssets(executor: Executor, accountId: string, time: StateTime): Promise<AssetCounts> {
  const { now, notSeenBefore, serviceNowMs } = time;
  const offset = renewalOffset(time);
  const count = async (sql: string, ...values: (string | number)[]): Promise<number> =>
    (await executor.one<CountRow>(sql, values))?.found ?? 0;
  const [all, connected, neverConnected, runningDeployments, onceSpent, away, dead, rows] = await Promise.all([
    count(ALL, accountId),
    count(CONNECTED, accountId, serviceNowMs),
    count(NEVER, accountId),
    count(RUNNING, accountId),
    count(ONCE_SPENT, accountId, now, notSeenBefore, serviceNowMs, offset),
    executor.one<NotSeenRow>(NOT_SEEN, [accountId, notSeenBefore]),
    executor.one<NotSeenRow>(HELD_BY_DEAD, [accountId, serviceNowMs, notSeenBefore, offset]),
    executor.all<ReasonsRow>(REASONS, [accountId, now]),
  ]);
  const notSeen = (away?.found ?? 0) + (dead?.found ?? 0);
  const reasons: Partial<Record<AttentionReason, number>> = notSeen > 0 ? { not_seen: notSeen } : {};
  let attention = (away?.others ?? 0) + (dead?.others ?? 0) + onceSpent;
  for (const { bits, until, found } of rows) {
    const state = { ...NEW_ASSET_STATE, reasonBits: bits, budgetSpentUntil: until ?? undefined };
    const ofRow = reasonsOf(state, time);
    if (ofRow.length > 0) attention += found;
    for (const reason of ofRow) reasons[reason] = (reasons[reason] ?? 0) + found;
  }
  return { all, connected, neverConnected, attention, reasons, runningDeployments };
}
