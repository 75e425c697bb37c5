import { expect, test } from "vitest";
import { openSqlite } from "../../../src/lib/sqlite.ts";
import { listSql } from "../../../src/control-plane/store/sql/asset-list.ts";
import { SQLITE } from "../../../src/control-plane/store/sql/dialect.ts";
import { MIGRATIONS } from "../../../src/control-plane/store/sqlite/migrations.ts";

test.each([[[]], [["status", "type", "text"]]] as const)(
  "a page of the list is read by the index, without a table scan or sorting, with the criteria %j",
  (criteria) => {
    using database = openSqlite(":memory:", { migrations: MIGRATIONS });
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${listSql(criteria, SQLITE)}`).all();
    expect(plan.map((row) => row["detail"])).toEqual([
      "SEARCH a USING INDEX assets_by_account (account_id=? AND (created_at,uuid)>(?,?))",
      "SEARCH s USING PRIMARY KEY (asset_uuid=? AND kind=?) LEFT-JOIN",
      "SEARCH p USING PRIMARY KEY (asset_uuid=? AND kind=?) LEFT-JOIN",
    ]);
  },
);
