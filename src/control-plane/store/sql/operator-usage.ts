import type { UsageCoverage } from "../../core/sims/usage-coverage.ts";
import type { CountedUsage } from "../../core/sims/usage-periods.ts";
import type { TimeRange } from "../../core/usage-period.ts";
import type { CountedSim, OperatorUsageStore } from "../operator-usage.ts";
import type { Executor } from "./executor.ts";
import { change, one, type Work } from "./statement.ts";

const FIND_SIM = "SELECT kind FROM sims WHERE asset_uuid = ? AND kind = ?";
const FIND_COVERAGE = /* sql */ `
  SELECT from_time, final_until, until_time, read_at_ms FROM sim_usage_reads
  WHERE asset_uuid = ? AND kind = ? AND period = ?`;
const SET_COVERAGE = /* sql */ `
  INSERT INTO sim_usage_reads (asset_uuid, kind, period, from_time, final_until, until_time, read_at_ms)
  VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (asset_uuid, kind, period) DO UPDATE
  SET from_time = excluded.from_time, final_until = excluded.final_until, until_time = excluded.until_time,
    read_at_ms = excluded.read_at_ms`;
const OF_RANGE = "asset_uuid = ? AND kind = ? AND period = ? AND start_time >= ? AND start_time < ?";
const REMOVE = `DELETE FROM sim_usage WHERE ${OF_RANGE}`;
const LIST = `SELECT start_time, bucket, bytes FROM sim_usage WHERE ${OF_RANGE} ORDER BY start_time, bucket`;
const INSERT = /* sql */ `
  INSERT INTO sim_usage (asset_uuid, kind, period, start_time, bucket, bytes) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (asset_uuid, kind, period, start_time, bucket) DO UPDATE SET bytes = excluded.bytes`;

interface CoverageRow {
  readonly from_time: number;
  readonly final_until: number;
  readonly until_time: number;
  readonly read_at_ms: number;
}
interface UsageRow {
  readonly start_time: number;
  readonly bucket: string;
  readonly bytes: number;
}

export class SqlOperatorUsageStore implements OperatorUsageStore {
  readonly #executor: Executor;

  constructor(executor: Executor) {
    this.#executor = executor;
  }

  async findCoverage(sim: CountedSim): Promise<UsageCoverage | undefined> {
    const row = await this.#executor.one<CoverageRow>(FIND_COVERAGE, keyOf(sim));
    return row && { from: row.from_time, finalUntil: row.final_until, until: row.until_time, readAtMs: row.read_at_ms };
  }

  async replaceUsage(
    sim: CountedSim,
    ranges: readonly TimeRange[],
    usage: readonly CountedUsage[],
    { from, finalUntil, until, readAtMs }: UsageCoverage,
  ): Promise<void> {
    const key = keyOf(sim);
    await this.#executor.transact(function* (): Work<void> {
      if ((yield* one(FIND_SIM, [sim.assetUuid, sim.type])) === undefined) return;
      for (const { start, end } of ranges) yield* change(REMOVE, [...key, start, end]);
      for (const { start, bucket, bytes } of usage) yield* change(INSERT, [...key, start, bucket, bytes]);
      yield* change(SET_COVERAGE, [...key, from, finalUntil, until, readAtMs]);
    });
  }

  async listUsage(sim: CountedSim, { start, end }: TimeRange): Promise<readonly CountedUsage[]> {
    const rows = await this.#executor.all<UsageRow>(LIST, [...keyOf(sim), start, end]);
    return rows.map(({ start_time, bucket, bytes }) => ({ start: start_time, bucket, bytes }));
  }
}

function keyOf({ assetUuid, type, period }: CountedSim): readonly [string, string, string] {
  return [assetUuid, type, period];
}
