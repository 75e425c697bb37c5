import { expect, test } from "vitest";
import { openSqlite } from "../../../src/lib/sqlite.ts";
import { criteriaOf, listSql } from "../../../src/control-plane/store/sql/asset-list.ts";
import { SQLITE } from "../../../src/control-plane/store/sql/dialect.ts";
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
