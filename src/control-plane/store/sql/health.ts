import { REPORTED_HEALTH_METRICS, type ReportedHealthMetric } from "../../../protocol/link/device-health.ts";
import type { AppHealthRow } from "../../../protocol/link/app-health.ts";
import { decodeAppRows, encodeAppRows } from "../../../protocol/link/app-health-rows.ts";
import type { HealthRow } from "../../../protocol/link/health-points.ts";
import { decodeHealthRows, encodeHealthRows, HEALTH_REPORT_ROW_S } from "../../../protocol/link/health-rows.ts";
import type { HistoryRange } from "../../core/connectivity.ts";
import {
  addAppsToDay,
  addToDay,
  condense,
  dayOf,
  newestHour,
  OLD_HEALTH_ROW_S,
  recentRows,
} from "../../core/health-days.ts";
import type { HealthStore, NewestHealth, StoredHealth } from "../health.ts";
import type { Dialect } from "./dialect.ts";
import type { Executor } from "./executor.ts";
import { change, one, type Work } from "./statement.ts";

/** Two sessions of a device at two instances may bring the same day. */
const lockAssetSql = ({ lockRows }: Dialect): string => `SELECT account_id FROM assets WHERE uuid = ? ${lockRows}`;
const FIND_DAY = "SELECT interval_s, content, apps FROM health_days WHERE asset_uuid = ? AND day = ?";
const SAVE_DAY = /* sql */ `
  INSERT INTO health_days (asset_uuid, day, interval_s, content, apps) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (asset_uuid, day) DO UPDATE
    SET interval_s = excluded.interval_s, content = excluded.content, apps = excluded.apps`;
const SAVE_LATEST = /* sql */ `
  INSERT INTO device_health (asset_uuid, account_id, at, recent, apps, ${REPORTED_HEALTH_METRICS.join(", ")})
  VALUES (?, ?, ?, ?, ?${", ?".repeat(REPORTED_HEALTH_METRICS.length)})
  ON CONFLICT (asset_uuid) DO UPDATE
    SET at = excluded.at, recent = excluded.recent, apps = excluded.apps, ${REPORTED_HEALTH_METRICS.map((metric) => `${metric} = excluded.${metric}`).join(", ")}`;
const FIND_RECENT = "SELECT recent, apps FROM device_health WHERE asset_uuid = ?";
const LIST = /* sql */ `
  SELECT interval_s, content, apps FROM health_days WHERE asset_uuid = ? AND day BETWEEN ? AND ? ORDER BY day`;
const listNewestSql = ({ jsonTexts }: Dialect): string => /* sql */ `
  SELECT asset_uuid, at, apps, ${REPORTED_HEALTH_METRICS.join(", ")} FROM device_health WHERE asset_uuid IN ${jsonTexts("?")}`;
const LIST_OLD = /* sql */ `
  SELECT asset_uuid, day, interval_s, content FROM health_days WHERE interval_s = ? AND day < ? ORDER BY day LIMIT ?`;
const CONDENSE =
  "UPDATE health_days SET interval_s = ?, content = ? WHERE asset_uuid = ? AND day = ? AND interval_s = ?";
const REMOVE = /* sql */ `
  DELETE FROM health_days WHERE (asset_uuid, day) IN
    (SELECT asset_uuid, day FROM health_days WHERE interval_s = ? AND day < ? ORDER BY day LIMIT ?)`;

interface DayRow {
  readonly interval_s: number;
  readonly content: Uint8Array;
  /** `null`: none were measured. */
  readonly apps: Uint8Array | null;
}

interface OldDayRow extends Omit<DayRow, "apps"> {
  readonly asset_uuid: string;
  readonly day: number;
}

type NewestRow = Readonly<Record<ReportedHealthMetric, number | null>> & {
  readonly asset_uuid: string;
  readonly at: number;
  readonly apps: Uint8Array | null;
};

export class SqlHealthStore implements HealthStore {
  readonly #executor: Executor;
  readonly #listNewest: string;

  constructor(executor: Executor) {
    this.#executor = executor;
    this.#listNewest = listNewestSql(executor.dialect);
  }

  async addRows(assetUuid: string, rows: readonly HealthRow[], apps: readonly AppHealthRow[] = []): Promise<number> {
    if (rows.length === 0) return 0;
    return this.#executor.transact(() => addRows(this.#executor.dialect, assetUuid, rows, apps));
  }

  async listRows(assetUuid: string, { from, to }: HistoryRange): Promise<StoredHealth> {
    const days = await this.#executor.all<DayRow>(LIST, [assetUuid, dayOf(from), dayOf(to)]);
    const rowS = days.reduce((longest, { interval_s }) => Math.max(longest, interval_s), HEALTH_REPORT_ROW_S);
    return { rowS, rows: days.flatMap(rowsOf), apps: days.flatMap(appsOf) };
  }

  async listNewest(assetUuids: readonly string[]): Promise<ReadonlyMap<string, NewestHealth>> {
    const rows = await this.#executor.all<NewestRow>(this.#listNewest, [JSON.stringify(assetUuids)]);
    return new Map(
      rows.map((row) => {
        const means = REPORTED_HEALTH_METRICS.flatMap((metric) =>
          row[metric] === null ? [] : [[metric, row[metric]] as const],
        );
        return [row.asset_uuid, { at: row.at, means: Object.fromEntries(means), apps: appsOf(row).at(-1) }];
      }),
    );
  }

  async condenseDays(before: number, limit: number): Promise<number> {
    const old = await this.#executor.all<OldDayRow>(LIST_OLD, [HEALTH_REPORT_ROW_S, before, limit]);
    if (old.length > 0) await this.#executor.transact(() => condenseDays(old));
    return old.length;
  }

  async removeDays(before: number, limit: number): Promise<number> {
    return this.#executor.change(REMOVE, [OLD_HEALTH_ROW_S, before, limit]);
  }
}

function* addRows(
  dialect: Dialect,
  assetUuid: string,
  rows: readonly HealthRow[],
  apps: readonly AppHealthRow[],
): Work<number> {
  const asset = yield* one<{ readonly account_id: string }>(lockAssetSql(dialect), [assetUuid]);
  if (!asset) return 0;
  let added = 0;
  const [rowsByDay, appsByDay] = [Map.groupBy(rows, ({ at }) => dayOf(at)), Map.groupBy(apps, ({ at }) => dayOf(at))];
  for (const day of new Set([...rowsByDay.keys(), ...appsByDay.keys()])) {
    const stored = yield* one<DayRow>(FIND_DAY, [assetUuid, day]);
    // A device cannot have rows of a day that is condensed.
    if (stored && stored.interval_s !== HEALTH_REPORT_ROW_S) continue;
    const before = { rows: stored ? rowsOf(stored) : [], apps: stored ? appsOf(stored) : [] };
    const after = {
      rows: addToDay(before.rows, rowsByDay.get(day) ?? []),
      apps: addAppsToDay(before.apps, appsByDay.get(day) ?? []),
    };
    const isSame = after.rows.length === before.rows.length && after.apps.length === before.apps.length;
    if (isSame || after.rows.length === 0) continue;
    added += after.rows.length - before.rows.length;
    const content = encodeHealthRows(after.rows, HEALTH_REPORT_ROW_S);
    yield* change(SAVE_DAY, [assetUuid, day, HEALTH_REPORT_ROW_S, content, encodeApps(after.apps)]);
  }
  if (added === 0) return 0;
  const found = yield* one<Pick<DayRow, "apps"> & { readonly recent: Uint8Array }>(FIND_RECENT, [assetUuid]);
  const before = (found && decodeHealthRows(found.recent, HEALTH_REPORT_ROW_S)) ?? [];
  const recent = recentRows(before, rows);
  const newest = recent.at(-1);
  if (!newest || newest === before.at(-1)) return added;
  const content = encodeHealthRows(recent, HEALTH_REPORT_ROW_S);
  const means = REPORTED_HEALTH_METRICS.map((metric) => {
    const mean = newest.spreads[metric]?.[1];
    return mean === undefined ? null : Math.round(mean);
  });
  const newestApps = encodeApps(newestHour([...(found ? appsOf(found) : []), ...apps], newest.at));
  yield* change(SAVE_LATEST, [assetUuid, asset.account_id, newest.at, content, newestApps, ...means]);
  return added;
}

/** Nothing is added to a day that is old. */
function* condenseDays(old: readonly OldDayRow[]): Work<void> {
  for (const row of old) {
    const content = encodeHealthRows(condense(rowsOf(row)), OLD_HEALTH_ROW_S);
    yield* change(CONDENSE, [OLD_HEALTH_ROW_S, content, row.asset_uuid, row.day, HEALTH_REPORT_ROW_S]);
  }
}

/** A record that is damaged has no rows. */
function rowsOf({ interval_s, content }: Pick<DayRow, "interval_s" | "content">): readonly HealthRow[] {
  return decodeHealthRows(content, interval_s) ?? [];
}

function appsOf({ apps }: Pick<DayRow, "apps">): readonly AppHealthRow[] {
  return (apps && decodeAppRows(apps)) ?? [];
}

function encodeApps(apps: readonly AppHealthRow[]): Uint8Array | null {
  return apps.length === 0 ? null : encodeAppRows(apps);
}
