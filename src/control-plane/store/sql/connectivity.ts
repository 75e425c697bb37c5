import { isDisconnectReason } from "../../../protocol/assets/connectivity.ts";
import type { ConnectionInterval, HistoryRange } from "../../core/connectivity.ts";
import type { ConnectivityStore } from "../connectivity.ts";
import type { Executor } from "./executor.ts";

const LIST = /* sql */ `
  SELECT started_at, ended_at, end_reason, takeovers, interruptions, interrupted_s, longest_interruption_s
  FROM connection_intervals WHERE asset_uuid = ?1 AND started_at < ?2 AND started_at >= coalesce(
    (SELECT max(started_at) FROM connection_intervals WHERE asset_uuid = ?1 AND started_at <= ?3), 0)
  ORDER BY started_at DESC LIMIT ?4`;
const REMOVE_OLD = /* sql */ `
  DELETE FROM connection_intervals WHERE (asset_uuid, started_at) IN
    (SELECT asset_uuid, started_at FROM connection_intervals WHERE ended_at < ? ORDER BY ended_at LIMIT ?)`;

interface Row {
  readonly started_at: number;
  readonly ended_at: number | null;
  readonly end_reason: string | null;
  readonly takeovers: number;
  readonly interruptions: number;
  readonly interrupted_s: number;
  readonly longest_interruption_s: number;
}

export class SqlConnectivityStore implements ConnectivityStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async list(assetUuid: string, { from, to }: HistoryRange, limit: number): Promise<readonly ConnectionInterval[]> {
    return (await this.#executor.all<Row>(LIST, [assetUuid, to, from, limit])).map(toInterval);
  }

  async removeOld(before: number, limit: number): Promise<number> {
    return this.#executor.change(REMOVE_OLD, [before, limit]);
  }
}

function toInterval(row: Row): ConnectionInterval {
  return {
    startedAt: row.started_at,
    endedAt: row.ended_at ?? undefined,
    endReason: isDisconnectReason(row.end_reason) ? row.end_reason : undefined,
    takeovers: row.takeovers,
    interruptions: row.interruptions,
    interruptedS: row.interrupted_s,
    longestInterruptionS: row.longest_interruption_s,
  };
}
