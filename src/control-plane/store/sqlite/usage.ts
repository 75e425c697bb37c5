import type { DatabaseSync, StatementSync } from "node:sqlite";
import { transaction } from "../../../lib/sqlite.ts";
import { type Granularity, granularitySchema } from "../../../protocol/usage.ts";
import type { TimeRange } from "../../core/usage-period.ts";
import type { UsageTotal } from "../../core/usage-view.ts";
import type { UsageRecord, UsageStore } from "../usage.ts";

/** SQL for the start of the period in which a record begins. */
const PERIOD_START: Readonly<Record<Granularity, string>> = {
  all: "NULL",
  hour: "start_time - start_time % 3600",
  day: "start_time - start_time % 86400",
  month: "unixepoch(start_time, 'unixepoch', 'start of month')",
};

/** Returns the query of `sumUsage`: a range scan of the primary key for every granularity. */
export function sumUsageSql(granularity: Granularity): string {
  return /* sql */ `
    SELECT ${PERIOD_START[granularity]} AS period, bucket, min(sum(bytes), ${Number.MAX_SAFE_INTEGER}) AS bytes
    FROM usage_records WHERE iccid = ? AND start_time >= ? AND start_time < ?
    GROUP BY period, bucket ORDER BY period, bucket`;
}

interface Row {
  readonly period: number | null;
  readonly bucket: string;
  readonly bytes: number;
}

export class SqliteUsageStore implements UsageStore {
  readonly #database: DatabaseSync;
  readonly #sums: ReadonlyMap<Granularity, StatementSync>;
  #stagingTables = 0;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#sums = new Map(
      granularitySchema.options.map((granularity) => [granularity, database.prepare(sumUsageSql(granularity))]),
    );
  }

  async recordUsage(records: AsyncIterable<UsageRecord>): Promise<number> {
    // A temporary table takes no lock on the database while a slow source is read.
    const staging = `temp.usage_staging_${++this.#stagingTables}`;
    this.#database.exec(`CREATE TABLE ${staging} AS SELECT * FROM usage_records LIMIT 0;
      CREATE UNIQUE INDEX ${staging}_key ON ${staging.slice("temp.".length)} (iccid, start_time, bucket)`);
    try {
      const insert = this.#database.prepare(
        `INSERT OR REPLACE INTO ${staging} (iccid, start_time, end_time, bucket, bytes) VALUES (?, ?, ?, ?, ?)`,
      );
      for await (const { iccid, startTime, endTime, bucket, bytes } of records) {
        insert.run(iccid, startTime, endTime, bucket, bytes);
      }
      return transaction(this.#database, () => this.#merge(staging));
    } finally {
      this.#database.exec(`DROP TABLE ${staging}`);
    }
  }

  async sumUsage(iccid: string, range: TimeRange, granularity: Granularity): Promise<readonly UsageTotal[]> {
    const rows = this.#sums.get(granularity)?.all(iccid, range.start, range.end) as unknown as Row[];
    return rows.map(({ period, bucket, bytes }) => ({ bucket, periodStart: period ?? undefined, bytes }));
  }

  #merge(staging: string): number {
    // Ordered by the primary key, so that the pages of the table are written sequentially.
    const { changes } = this.#database
      .prepare(
        `INSERT OR REPLACE INTO usage_records (iccid, start_time, end_time, bucket, bytes)
         SELECT iccid, start_time, end_time, bucket, bytes FROM ${staging}
         WHERE iccid IN (SELECT iccid FROM sims) ORDER BY iccid, start_time, bucket`,
      )
      .run();
    return Number(changes);
  }
}
