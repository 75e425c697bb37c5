import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PostgresPool } from "../../../src/control-plane/store/postgres/pool.ts";
import { criteriaOf } from "../../../src/control-plane/store/sql/asset-criteria.ts";
import { AssetList, listSql } from "../../../src/control-plane/store/sql/asset-list.ts";
import type { AssetCursor } from "../../../src/control-plane/core/cursor.ts";
import type { AssetFilter } from "../../../src/control-plane/store/assets.ts";
import { PostgresExecutor } from "../../../src/control-plane/store/sql/postgres-executor.ts";
import { POSTGRES } from "../../../src/control-plane/store/sql/dialect.ts";
import type { SelectorTerm } from "../../../src/protocol/fleets/selector.ts";
import { postgresUnavailableReason } from "../../support/postgres.ts";
import { PostgresDatabases } from "../../support/postgres-store.ts";

const reason = await postgresUnavailableReason();

const TIME = { now: 0, notSeenBefore: 0, serviceNowMs: 0 };

describe.skipIf(reason !== undefined)(`selectors on PostgreSQL${reason === undefined ? "" : ` (${reason})`}`, () => {
  let databases: PostgresDatabases;
  let pool: PostgresPool;

  beforeAll(async () => {
    databases = await PostgresDatabases.start();
    const options = await databases.create();
    // Without the triggers, which count the assets one by one, and as the server's owner, whose statements have no time limit.
    const statements = [
      "ALTER TABLE assets DISABLE TRIGGER USER",
      "INSERT INTO accounts (id, name, created_at) VALUES ('acc_1', 'a', 0)",
      "INSERT INTO instances (id, version, started_at_ms, lease_until_ms) VALUES ('i', '1', 0, 1000)",
      `INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at, updated_at)
       SELECT lpad(i::text, 6, '0'), 'acc_1', i, CASE WHEN i % 200 = 0 THEN 'Kiosk' ELSE i::text END,
         CASE WHEN i % 200 = 0 THEN 'kiosk' ELSE '' END, i, i FROM generate_series(1, 5000) i`,
      `INSERT INTO asset_states (asset_uuid, account_id, created_at, instance_id, agent_version, reasons, accepted_at)
       SELECT uuid, account_id, created_at, CASE WHEN created_at % 100 = 25 THEN 'i' END, CASE WHEN created_at % 100 = 50 THEN '0.9' ELSE '1' END,
         CASE WHEN created_at % 100 = 0 THEN 64 ELSE 0 END, CASE WHEN created_at % 100 <> 75 THEN 1 END FROM assets`,
      `INSERT INTO asset_tags (asset_uuid, account_id, key, value)
       SELECT uuid, account_id, k, CASE WHEN k = 'site' AND created_at % 100 = 0 THEN 's2' ELSE v END
       FROM assets, (VALUES ('region', 'north'), ('site', 's1')) t (k, v)`,
      "ANALYZE assets",
      "ANALYZE asset_states",
      "ANALYZE asset_tags",
    ];
    for (const statement of statements) await databases.server.execute(statement, options.database);
    pool = new PostgresPool({ ...options, poolMax: 1 });
  });
  afterAll(async () => {
    await pool[Symbol.asyncDispose]();
    await databases[Symbol.asyncDispose]();
  });

  test.each<SelectorTerm>([
    { op: "in", key: "region", values: ["north"] },
    { op: "not_in", key: "region", values: ["south"] },
    { op: "exists", key: "region" },
    { op: "not_exists", key: "role" },
  ])("a page looks at the tags of its own assets only: %o", async (term) => {
    const criteria = criteriaOf({ status: undefined, type: undefined, text: undefined, selector: [term] }, TIME);
    const sql = listSql(criteria, POSTGRES).replaceAll(/\?(\d+)/g, "$$$1");
    const values = ["acc_1", -1, "", 0, 0, ...criteria.flatMap((each) => each.values), 50];
    const { rows } = await pool.query<{ readonly "QUERY PLAN": string }>(`EXPLAIN ${sql}`, values);
    const plan = rows.map((row) => row["QUERY PLAN"]);
    expect(plan.filter((step) => /Scan.* on assets a/.test(step))).toEqual([
      expect.stringContaining("Index Scan using assets_by_account on assets a"),
    ]);
    expect(plan.filter((step) => /Scan.* on asset_tags/.test(step)).length).toBeGreaterThan(0);
    expect(plan.filter((step) => /(?:Seq|Bitmap|Parallel).* on asset_tags|Sort/.test(step))).toEqual([]);
  });

  test.each<Partial<AssetFilter>>([
    { selector: [{ op: "in", key: "site", values: ["s2"] }] },
    { type: "kiosk" },
    { agentVersion: "0.9" },
    { accepted: false },
    { connected: true },
    { attention: "disk_low" },
    { attention: "any" },
    { attention: "any", type: "kiosk", order: "-created_at" },
    { attention: "disk_low", type: "kiosk", order: "-updated_at", updatedSince: 2_000 },
    { text: "KIOSK", order: "-created_at" },
    { status: "active", order: "updated_at" },
  ])("the pages are the same, whether few assets match or many, and however many are looked at: %j", async (given) => {
    const filter = { status: undefined, type: undefined, text: undefined, ...given };
    const read = async (maxFew: number, maxScanned: number): Promise<string[]> => {
      const list = new AssetList(new PostgresExecutor(pool), maxFew, maxScanned);
      const found: string[] = [];
      for (let after: AssetCursor | undefined; ;) {
        const { assets, next } = await list.page("acc_1", filter, { ...TIME, serviceNowMs: 1 }, 7, after);
        found.push(...assets.map(({ asset }) => asset.uuid));
        if (!next) return found;
        after = next;
      }
    };
    const all = await read(100, 100_000);
    expect(all.length > 0).toBe(given.status === undefined);
    expect(await read(0, 100_000)).toEqual(all);
    expect(await read(0, 500)).toEqual(all);
  });
});
