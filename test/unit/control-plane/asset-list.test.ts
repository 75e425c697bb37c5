import { expect, test } from "vitest";
import { openSqlite } from "../../../src/lib/sqlite.ts";
import { criteriaOf } from "../../../src/control-plane/store/sql/asset-criteria.ts";
import { AssetList, fewCandidates, listSql, sourceOf } from "../../../src/control-plane/store/sql/asset-list.ts";
import { SQLITE } from "../../../src/control-plane/store/sql/dialect.ts";
import { SqliteExecutor } from "../../../src/control-plane/store/sql/sqlite-executor.ts";
import type { AssetFilter, AssetWithState } from "../../../src/control-plane/store/assets.ts";
import { MIGRATIONS } from "../../../src/control-plane/store/sqlite/migrations.ts";

const FILTER = {
  status: "active",
  type: "a",
  text: "b",
  connected: true,
  attention: "any",
  agentVersion: "1",
} as const;
/** The instances are few, and read once; one again for a device whose instance has just died. */
const INSTANCES =
  /^(?:CORRELATED SCALAR SUBQUERY|SEARCH i USING PRIMARY KEY|LIST SUBQUERY|SCAN i|USING ROWID SEARCH|REUSE LIST|CREATE BLOOM)/;
const TIME = { now: 0, notSeenBefore: 0, serviceNowMs: 0 };

test.each([{}, FILTER])(
  "a page of the list is read by the index, without a table scan or sorting, with the filter %j",
  (given) => {
    const criteria = criteriaOf({ status: undefined, type: undefined, text: undefined, ...given }, TIME);
    using database = openSqlite(":memory:", { migrations: MIGRATIONS });
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${listSql(criteria, SQLITE)}`).all();
    // The assets first, in the order of the index.
    expect(plan.map((row) => String(row["detail"])).find((step) => !INSTANCES.test(step))).toContain(
      "assets_by_account",
    );
    const steps = plan.map((row) => String(row["detail"]).replace(" LEFT-JOIN", ""));
    expect(steps.filter((step) => !INSTANCES.test(step)).toSorted()).toEqual([
      "SEARCH a USING INDEX assets_by_account (account_id=? AND (created_at,uuid)>(?,?))",
      "SEARCH p USING PRIMARY KEY (asset_uuid=? AND kind=?)",
      "SEARCH s USING PRIMARY KEY (asset_uuid=? AND kind=?)",
      "SEARCH t USING PRIMARY KEY (asset_uuid=?)",
    ]);
  },
);

test.each([
  ["-created_at", undefined, "assets_by_account (account_id=? AND (created_at,uuid)<(?,?))"],
  ["updated_at", undefined, "assets_by_update (account_id=? AND (updated_at,uuid)>(?,?))"],
  ["updated_at", 5, "assets_by_update (account_id=? AND"],
  ["-updated_at", 5, "assets_by_update (account_id=? AND"],
] as const)("the order %s, since %s, is that of an index", (order, updatedSince, index) => {
  const criteria = criteriaOf({ status: undefined, type: undefined, text: undefined, updatedSince }, TIME);
  using database = openSqlite(":memory:", { migrations: MIGRATIONS });
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${listSql(criteria, SQLITE, order)}`).all();
  const steps = plan.map((row) => String(row["detail"])).filter((step) => !INSTANCES.test(step));
  expect(steps[0]).toContain(index);
  expect(steps.filter((step) => /TEMP B-TREE|^SCAN/.test(step))).toEqual([]);
});

const SELECTOR = [
  { op: "in", key: "region", values: ["north", "south"] },
  { op: "in", key: "site", values: ["s7"] },
] as const;

test("few assets with a tag are looked up one by one, whatever the order", () => {
  const criteria = criteriaOf({ status: undefined, type: undefined, text: undefined, selector: SELECTOR }, TIME);
  using database = openSqlite(":memory:", { migrations: MIGRATIONS });
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${listSql(criteria, SQLITE, "-updated_at", "few")}`).all();
  const steps = plan.map((row) => String(row["detail"])).filter((step) => !INSTANCES.test(step));
  expect(steps[0]).toMatch(/^SEARCH a USING INDEX sqlite_autoindex_assets_1 \(uuid=\?\)/);
  expect(steps.filter((step) => /assets_by|^SCAN (?!term|entry|json_each)/.test(step))).toEqual([]);
});

test.each(["created_at", "-created_at", "updated_at", "-updated_at"] as const)(
  "the pages by %s are the same, whether few have a tag or many",
  async (order) => {
    using database = openSqlite(":memory:", { migrations: MIGRATIONS });
    database.exec(`
      INSERT INTO accounts (id, name, created_at) VALUES ('acc_1', 'a', 0);
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 59)
      INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at, updated_at)
      SELECT printf('%04d', i), 'acc_1', i, i, '', i / 7, (i * 7) % 60 FROM n;
      INSERT OR IGNORE INTO asset_states (asset_uuid, account_id) SELECT uuid, account_id FROM assets;
      INSERT INTO asset_tags (asset_uuid, account_id, key, value)
      SELECT uuid, account_id, 'region', iif(uuid % 3 = 0, 'west', iif(uuid % 3 = 1, 'north', 'south')) FROM assets;
      INSERT INTO asset_tags (asset_uuid, account_id, key, value)
      SELECT uuid, account_id, 'site', 's' || (uuid % 9) FROM assets WHERE uuid % 5 > 0`);
    const read = async (maxFew: number, maxScanned?: number): Promise<string[]> => {
      const list = new AssetList(new SqliteExecutor(database), maxFew, maxScanned);
      const filter = { status: undefined, type: undefined, text: undefined, selector: SELECTOR, order };
      const found: string[] = [];
      for (let after: { at: number; uuid: string } | undefined; ;) {
        const { assets, next } = await list.page("acc_1", filter, TIME, 1, after);
        found.push(...assets.map(({ asset }) => asset.uuid));
        if (!next) return found;
        after = next;
      }
    };
    const all = await read(0);
    expect(all.toSorted()).toEqual(["0007", "0016", "0034", "0043", "0052"]);
    // All of the site are few, and then those of the regions are, too.
    expect(await read(10)).toEqual(all);
    expect(await read(60)).toEqual(all);
    // Each page looks at so many assets only.
    for (const maxScanned of [1, 7, 59, 60, 61]) expect(await read(0, maxScanned)).toEqual(all);
  },
);

test("a page ends after so many assets were looked at, with the position where the next one goes on", async () => {
  using database = openSqlite(":memory:", { migrations: MIGRATIONS });
  database.exec(`
    INSERT INTO accounts (id, name, created_at) VALUES ('acc_1', 'a', 0);
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2999)
    INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at, updated_at)
    SELECT printf('%04d', i), 'acc_1', i, iif(i % 1000 = 999, 'Kiosk', 'Van'), '', i, i FROM n`);
  const list = new AssetList(new SqliteExecutor(database), undefined, 1_500);
  const filter = { status: undefined, type: undefined, text: "kiosk" };
  const pages = [];
  for (let after: { at: number; uuid: string } | undefined; ;) {
    const { assets, next } = await list.page("acc_1", filter, TIME, 50, after);
    pages.push([assets.map(({ asset }) => asset.createdAt), next?.at]);
    if (!next) break;
    after = next;
  }
  expect(pages).toEqual([
    [[999], 1499],
    [[1999, 2999], 2999],
    [[], undefined],
  ]);
  // What ends the list is not looked beyond.
  const since = { ...filter, order: "-updated_at", updatedSince: 2_500 } as const;
  expect(await list.page("acc_1", since, TIME, 50, undefined)).toMatchObject({ assets: [{}], next: undefined });
});

test.each<[Partial<AssetFilter>, string]>([
  [{ status: "inactive" }, "assets_by_status (account_id=? AND is_active=? AND (created_at,uuid)>(?,?))"],
  [{ connected: true, status: "active" }, "asset_states_connected (account_id=? AND (created_at,asset_uuid)>(?,?))"],
  [{ attention: "any", type: "a" }, "asset_states_with_reasons (account_id=? AND (created_at,asset_uuid)>(?,?))"],
  [{ attention: "disk_low" }, "asset_states_with_reasons (account_id=? AND (created_at,asset_uuid)>(?,?))"],
])("a page with %j is read in its order from the index %s, which has no other assets", (given, index) => {
  const filter = { status: undefined, type: undefined, text: undefined, ...given };
  using database = openSqlite(":memory:", { migrations: MIGRATIONS });
  for (const order of ["created_at", "-created_at"] as const) {
    const sql = listSql(criteriaOf(filter, TIME), SQLITE, order, "all", sourceOf({ ...filter, order }));
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
    const steps = plan.map((row) => String(row["detail"])).filter((step) => !INSTANCES.test(step));
    expect(steps[0]).toContain(`INDEX ${order === "created_at" ? index : index.replace(">(", "<(")}`);
    expect(steps.filter((step) => /TEMP B-TREE|^SCAN/.test(step))).toEqual([]);
  }
});

test.each<Partial<AssetFilter>>([
  { attention: "any" },
  { attention: "any", type: "a" },
  { attention: "disk_low" },
  { connected: true },
  { connected: true, status: "inactive" },
  { status: "active" },
  { status: "inactive", connected: false },
  { attention: "any", order: "-created_at" },
  { connected: true, order: "-created_at" },
  { status: "inactive", order: "-created_at" },
  { attention: "any", order: "updated_at" },
])("the pages with %j have what the filter says, however few match and however many are looked at", async (given) => {
  using database = openSqlite(":memory:", { migrations: MIGRATIONS });
  // Instance a is alive, b has died, and c has left nothing but its sessions.
  database.exec(`
    INSERT INTO accounts (id, name, created_at) VALUES ('acc_1', 'a', 0);
    INSERT INTO instances (id, version, started_at_ms, lease_until_ms) VALUES ('a', '1', 0, 10), ('b', '1', 0, 0);
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 59)
    INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at, updated_at)
    SELECT printf('%04d', i), 'acc_1', i, i, iif(i % 4 = 0, 'a', 'b'), i / 7, (i * 7) % 60 FROM n;
    INSERT INTO sims (asset_uuid, kind, iccid, status)
    SELECT uuid, 'supersim', 'i' || uuid, iif(uuid % 3 = 0, 'inactive', 'active') FROM assets WHERE uuid % 5 > 0;
    UPDATE asset_states SET reasons = iif(asset_uuid % 11 = 0, 64, iif(asset_uuid % 13 = 0, 128, 0)), budget_spent_until = 500,
      instance_id = CASE asset_uuid % 6 WHEN 1 THEN 'a' WHEN 2 THEN 'b' WHEN 3 THEN 'c' END,
      last_seen_at = CASE asset_uuid % 7 WHEN 0 THEN NULL WHEN 1 THEN 100 WHEN 2 THEN 200 ELSE 990 END;
    INSERT INTO device_sessions (asset_uuid, instance_id) SELECT asset_uuid, instance_id FROM asset_states`);
  const time = { now: 1_000, notSeenBefore: 900, serviceNowMs: 5 };
  const all = { status: undefined, type: undefined, text: undefined };
  const order = given.order ?? "created_at";
  const read = async (filter: AssetFilter, limit: number, maxFew: number, maxScanned: number) => {
    const list = new AssetList(new SqliteExecutor(database), maxFew, maxScanned);
    const found: AssetWithState[] = [];
    for (let after: { at: number; uuid: string } | undefined; ;) {
      const { assets, next } = await list.page("acc_1", filter, time, limit, after);
      expect(assets.length).toBeLessThanOrEqual(limit);
      found.push(...assets);
      if (!next) return found;
      after = next;
    }
  };
  const matches = ({ asset, state }: AssetWithState): boolean => {
    const status = asset.supersim?.status ?? "inactive";
    const isSpent = state.reasonBits === 128 && (state.budgetSpentUntil ?? 0) > time.now;
    const isNotSeen = !state.isConnected && (state.lastSeenAt ?? 1_000) < time.notSeenBefore;
    const isAny = state.reasonBits === 64 || isSpent || isNotSeen;
    return (
      (given.status ?? status) === status &&
      (given.type ?? asset.type) === asset.type &&
      (given.connected ?? state.isConnected) === state.isConnected &&
      (given.attention === undefined || (given.attention === "any" ? isAny : state.reasonBits === 64))
    );
  };
  const everything = await read({ ...all, order }, 100, 0, 1_000);
  expect(everything).toHaveLength(60);
  const expected = everything.filter(matches).map(({ asset }) => asset.uuid);
  expect(expected.length).toBeGreaterThan(1);
  expect(expected.length).toBeLessThan(50);
  for (const limit of [1, 3, 100])
    for (const maxFew of [0, 5, 60])
      for (const maxScanned of [1, 7, 1_000]) {
        const found = await read({ ...all, ...given, order }, limit, maxFew, maxScanned);
        expect([limit, maxFew, maxScanned, ...found.map(({ asset }) => asset.uuid)]).toEqual([
          limit,
          maxFew,
          maxScanned,
          ...expected,
        ]);
      }
});

test.each<[Partial<AssetFilter>, string]>([
  [{ type: "a" }, "assets_by_type"],
  [{ agentVersion: "1" }, "asset_states_by_agent"],
  [{ accepted: false }, "asset_states_not_accepted"],
  [{ connected: true }, "asset_states_connected"],
  [{ attention: "disk_low" }, "asset_states_with_reasons"],
  [{ attention: "data_budget_spent" }, "asset_states_with_reasons"],
  [{ selector: SELECTOR }, "asset_tags_by_value"],
])("the assets that match %j are found by the index %s", (filter, index) => {
  const [candidates] = fewCandidates({ status: undefined, type: undefined, text: undefined, ...filter }, SQLITE);
  using database = openSqlite(":memory:", { migrations: MIGRATIONS });
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${candidates?.sql}`).all();
  expect(plan[0]?.["detail"]).toContain(`INDEX ${index} (account_id=?`);
});
