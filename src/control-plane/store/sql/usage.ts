import type { AuditEntry } from "../audit.ts";
import type { Granularity } from "../../../protocol/assets/usage.ts";
import type { TimeRange } from "../../core/usage-period.ts";
import type { UsageTotal } from "../../core/usage-view.ts";
import type { UsageRecord, UsageStore } from "../usage.ts";
import type { Dialect } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import { UsageStaging } from "./usage-staging.ts";

/** Returns SQL for the start of the period in which a record begins. */
function periodStart(granularity: Granularity, dialect: Dialect): string {
  if (granularity === "hour") return "start_time - start_time % 3600";
  if (granularity === "day") return "start_time - start_time % 86400";
  return granularity === "month" ? dialect.monthStart("start_time") : "CAST(NULL AS BIGINT)";
}

/** Returns the query of `sumUsage`: a range scan of the primary key for every granularity. */
export function sumUsageSql(granularity: Granularity, dialect: Dialect): string {
  const max = Number.MAX_SAFE_INTEGER;
  return /* sql */ `
    SELECT ${periodStart(granularity, dialect)} AS period, bucket,
      CASE WHEN sum(bytes) > ${max} THEN ${max} ELSE CAST(sum(bytes) AS BIGINT) END AS bytes
    FROM usage_series JOIN usage_records ON series_id = id WHERE iccid = ? AND start_time >= ? AND start_time < ?
    GROUP BY period, bucket ORDER BY period, bucket`;
}

interface Row {
  readonly period: number | null;
  readonly bucket: string;
  readonly bytes: number;
}

export class SqlUsageStore implements UsageStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async recordUsage(
    records: AsyncIterable<UsageRecord>,
    audit?: (stored: number) => AuditEntry | undefined,
  ): Promise<number> {
    return this.#executor.withConnection(async (connection) => {
      await using staging = await UsageStaging.create(connection);
      await staging.fill(records);
      // Awaited here, since the staging table is dropped at the end of this block.
      return await staging.merge(audit);
    });
  }

  async sumUsage(iccid: string, { start, end }: TimeRange, granularity: Granularity): Promise<readonly UsageTotal[]> {
    const sql = sumUsageSql(granularity, this.#executor.dialect);
    const rows = await this.#executor.all<Row>(sql, [iccid, start, end]);
    return rows.map(({ period, bucket, bytes }) => ({ bucket, periodStart: period ?? undefined, bytes }));
  }
}
