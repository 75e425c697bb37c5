import type { DatabaseSync } from "node:sqlite";
import { expect, test } from "vitest";
import type { DeploymentListCursor, DeploymentOrder } from "../../../src/control-plane/core/cursor.ts";
import type { DeploymentFilter } from "../../../src/control-plane/store/deployment-lists.ts";
import {
  afterPosition,
  conditionsOf,
  pageSql,
  positionSql,
  SqlDeploymentListStore,
} from "../../../src/control-plane/store/sql/deployment-list.ts";
import { SQLITE } from "../../../src/control-plane/store/sql/dialect.ts";
import { SqliteExecutor } from "../../../src/control-plane/store/sql/sqlite-executor.ts";
import { MIGRATIONS } from "../../../src/control-plane/store/sqlite/migrations.ts";
import { openSqlite } from "../../../src/lib/sqlite.ts";

const SELECTOR = [{ op: "in", key: "role", values: ["kiosk"] }] as const;

const QUERIES: [DeploymentOrder, DeploymentFilter, index: string][] = [
  ["created", {}, "deployments_by_account (account_id=? AND (created_at_ms,id)<(?,?))"],
  ["created", { sinceMs: 5 }, "deployments_by_account"],
  ["created", { status: "Success" }, "deployments_by_account"],
  ["created", { status: "Fail" }, "deployments_not_succeeded"],
  ["created", { status: "Running", sinceMs: 5 }, "deployments_not_succeeded"],
  ["created", { app: "web" }, "deployments_by_app"],
  ["created", { app: "web", status: "Fail", selector: SELECTOR }, "deployments_by_app"],
  ["created", { selector: SELECTOR }, "deployments_by_account"],
  ["changed", {}, "deployments_by_change (account_id=? AND <expr>>?)"],
  [
    "changed",
    { app: "web", status: "Fail", selector: SELECTOR, sinceMs: 5 },
    "deployments_by_change (account_id=? AND <expr>>?)",
  ],
];

test.each(QUERIES)("a page by %s with the filter %j is a range of an index in its order", (order, filter, index) => {
  using database = openSqlite(":memory:", { migrations: MIGRATIONS });
  const { indexed, others } = conditionsOf("acc_1", order, filter, SQLITE);
  const after = afterPosition(order, { atMs: 1, id: "" });
  for (const { sql, values } of [
    pageSql(order, [...indexed, after, ...others], 50),
    positionSql(order, [...indexed, after], 100),
  ]) {
    const steps = database
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all(...(values as string[]))
      .map((row) => String(row["detail"]));
    expect(steps[0]).toMatch(/^SEARCH d USING (COVERING )?INDEX /);
    expect(steps[0]).toContain(index);
    // Nothing is sorted, and no table is read from its beginning to its end: only the terms of the selector are.
    expect(steps.filter((step) => /TEMP B-TREE|^SCAN (?!term|entry|json_each)/.test(step))).toEqual([]);
  }
});

/** Deployments from 0 on, one each millisecond; every tenth is of the app `rare`. */
function fill(database: DatabaseSync, count: number): void {
  database.exec(`
    INSERT INTO accounts (id, name, created_at) VALUES ('acc_1', 'a', 0);
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ${count})
    INSERT INTO deployments (id, account_id, asset_uuid, app, spec, status, created_at_ms, deadline_at_ms)
    SELECT printf('dep_%04d', i), 'acc_1', 'x', CASE WHEN i % 10 = 0 THEN 'rare' ELSE 'web' END, '{}', 'Success', i, 0 FROM n`);
}

test("a page looks at a limited number of deployments, and the next one goes on after them", async () => {
  using database = openSqlite(":memory:", { migrations: MIGRATIONS });
  fill(database, 100);
  const store = new SqlDeploymentListStore(new SqliteExecutor(database), 25);
  // No index has the app in the order of changes.
  const filter = { app: "rare" };
  const pages: string[][] = [];
  let after: DeploymentListCursor | undefined;
  do {
    const page = await store.listOfAccount("acc_1", "changed", filter, 50, after);
    pages.push(page.deployments.map(({ id }) => id));
    after = page.next;
  } while (after);
  expect(pages).toEqual([
    ["dep_0000", "dep_0010", "dep_0020"],
    ["dep_0030", "dep_0040"],
    ["dep_0050", "dep_0060", "dep_0070"],
    ["dep_0080", "dep_0090"],
    [],
  ]);
  const nothing = await store.listOfAccount("acc_1", "created", { status: "Success", selector: SELECTOR }, 50);
  expect(nothing).toMatchObject({ deployments: [], next: { atMs: 75 } });
});
