import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PostgresPool } from "../../../src/control-plane/store/postgres/pool.ts";
import { criteriaOf, listSql } from "../../../src/control-plane/store/sql/asset-list.ts";
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
    pool = new PostgresPool({ ...(await databases.create()), poolMax: 1 });
    for (const statement of [
      "INSERT INTO accounts (id, name, created_at) VALUES ('acc_1', 'a', 0)",
      `INSERT INTO assets (uuid, account_id, serial_number, name, type, created_at)
       SELECT lpad(i::text, 6, '0'), 'acc_1', i, i, '', i FROM generate_series(1, 5000) i`,
      `INSERT INTO asset_tags (asset_uuid, account_id, key, value)
       SELECT uuid, account_id, k, v FROM assets, (VALUES ('region', 'north'), ('site', 's1')) t (k, v)`,
      "ANALYZE assets",
      "ANALYZE asset_tags",
    ])
      await pool.query(statement);
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
});
