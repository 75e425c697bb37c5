import { expect, test } from "vitest";
import { MIGRATIONS } from "../../../src/control-plane/store/sqlite/migrations.ts";
import { sumUsageSql } from "../../../src/control-plane/store/sql/usage.ts";
import { SQLITE } from "../../../src/control-plane/store/sql/dialect.ts";
import { openSqlite } from "../../../src/lib/sqlite.ts";
import { granularitySchema } from "../../../src/protocol/assets/usage.ts";

test.each(granularitySchema.options)(
  "granularity %s reads a range of the primary key, and no other row",
  (granularity) => {
    using database = openSqlite(":memory:", { migrations: MIGRATIONS });
    const plan = database.prepare(`EXPLAIN QUERY PLAN ${sumUsageSql(granularity, SQLITE)}`).all("x", 0, 1);
    const steps = plan.map((row) => String(row["detail"]));
    expect(steps.slice(0, 2)).toEqual([
      expect.stringMatching(/^SEARCH usage_series USING COVERING INDEX .*\(iccid=\?\)$/),
      "SEARCH usage_records USING PRIMARY KEY (series_id=? AND start_time>? AND start_time<?)",
    ]);
    expect(steps.filter((step) => step.startsWith("SCAN"))).toEqual([]);
  },
);
