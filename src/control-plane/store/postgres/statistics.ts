import {
  COUNT_AGENT_VERSIONS_SQL,
  type StoreSizes,
  type StoreStatistics,
  type UnfinishedState,
} from "../statistics.ts";
import type { PostgresPool } from "./pool.ts";

// Reads unfinished deployments only, by an index: those on record may be millions.
const COUNT_UNFINISHED = /* sql */ `
  SELECT CASE WHEN is_waiting = 1 THEN 'waiting_for_device' WHEN cancel_requested_at_ms IS NOT NULL THEN 'cancelling'
    WHEN delivery IS NOT NULL THEN 'undelivered' WHEN uncertainty IS NOT NULL THEN 'uncertain' ELSE 'running' END AS state,
    count(*) AS count
  FROM deployments WHERE status = 'Running' GROUP BY 1`;

const SIZE = "SELECT pg_database_size(current_database()) AS size";

export class PostgresStoreStatistics implements StoreStatistics {
  readonly #pool: PostgresPool;

  constructor(pool: PostgresPool) {
    this.#pool = pool;
  }

  async countUnfinished(): Promise<ReadonlyMap<UnfinishedState, number>> {
    const { rows } = await this.#pool.query<{ state: UnfinishedState; count: number }>(COUNT_UNFINISHED, []);
    return new Map(rows.map(({ state, count }) => [state, count]));
  }

  async countAgentVersions(limit: number): Promise<ReadonlyMap<string, number>> {
    const sql = `${COUNT_AGENT_VERSIONS_SQL} $1`;
    const { rows } = await this.#pool.query<{ version: string; count: number }>(sql, [limit]);
    return new Map(rows.map(({ version, count }) => [version, count]));
  }

  async sizes(): Promise<StoreSizes> {
    const { rows } = await this.#pool.query<{ size: number }>(SIZE, []);
    return { database: rows[0]?.size ?? 0, wal: undefined };
  }
}
