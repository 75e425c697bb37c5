import { expect, test } from "vitest";
import { openSqlite } from "../../../src/lib/sqlite.ts";
import { LIST_SQL } from "../../../src/control-plane/store/sqlite/asset-list.ts";
import { MIGRATIONS } from "../../../src/control-plane/store/sqlite/migrations.ts";

test("a page of the list is read by the index, without a table scan or sorting", () => {
  using database = openSqlite(":memory:", { migrations: MIGRATIONS });
  const plan = database.prepare(`EXPLAIN QUERY PLAN ${LIST_SQL}`).all();
  expect(plan.map((row) => row["detail"])).toEqual([
    "SEARCH a USING INDEX assets_by_account (account_id=? AND (created_at,uuid)>(?,?))",
    "SEARCH s USING PRIMARY KEY (asset_uuid=? AND kind=?) LEFT-JOIN",
    "SEARCH p USING PRIMARY KEY (asset_uuid=? AND kind=?) LEFT-JOIN",
  ]);
});
