import { statSync } from "node:fs";
import type { DatabaseSync } from "node:sqlite";
import {
  COUNT_AGENT_VERSIONS_SQL,
  type StoreSizes,
  type StoreStatistics,
  type UnfinishedState,
} from "../statistics.ts";

/** Reads unfinished deployments only, by an index: those on record may be millions. */
export const COUNT_UNFINISHED_SQL = /* sql */ `
  SELECT CASE WHEN is_waiting THEN 'waiting_for_device' WHEN cancel_requested_at_ms IS NOT NULL THEN 'cancelling'
    WHEN delivery IS NOT NULL THEN 'undelivered' WHEN uncertainty IS NOT NULL THEN 'uncertain' ELSE 'running' END AS state,
    count(*) AS count
  FROM deployments WHERE status = 'Running' GROUP BY state`;

export class SqliteStoreStatistics implements StoreStatistics {
  readonly #path: string;
  readonly #unfinished;
  readonly #agentVersions;

  /** @param path the database's file, or `:memory:` */
  constructor(database: DatabaseSync, path: string) {
    this.#path = path;
    this.#unfinished = database.prepare(COUNT_UNFINISHED_SQL);
    this.#agentVersions = database.prepare(`${COUNT_AGENT_VERSIONS_SQL} ?`);
  }

  async countUnfinished(): Promise<ReadonlyMap<UnfinishedState, number>> {
    const rows = this.#unfinished.all() as { state: UnfinishedState; count: number }[];
    return new Map(rows.map(({ state, count }) => [state, count]));
  }

  async countAgentVersions(limit: number): Promise<ReadonlyMap<string, number>> {
    const rows = this.#agentVersions.all(limit) as { version: string; count: number }[];
    return new Map(rows.map(({ version, count }) => [version, count]));
  }

  async sizes(): Promise<StoreSizes | undefined> {
    const database = sizeOf(this.#path);
    return database === undefined ? undefined : { database, wal: sizeOf(`${this.#path}-wal`) ?? 0 };
  }
}

function sizeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.size;
}
