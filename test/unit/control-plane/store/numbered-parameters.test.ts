import { expect, test } from "vitest";
import { numberedParameters } from "../../../../src/control-plane/store/sql/postgres-executor.ts";

test.each([
  ["SELECT 1", "SELECT 1"],
  ["SELECT a FROM t WHERE b = ? AND c IN (?, ?)", "SELECT a FROM t WHERE b = $1 AND c IN ($2, $3)"],
  ["SELECT a FROM t WHERE b = ?1 OR c = ?2 OR d = ?1", "SELECT a FROM t WHERE b = $1 OR c = $2 OR d = $1"],
  [
    "SELECT '?', 'it''s ?' FROM t WHERE b LIKE ? ESCAPE '\\'",
    "SELECT '?', 'it''s ?' FROM t WHERE b LIKE $1 ESCAPE '\\'",
  ],
])("%s", (sql, expected) => {
  expect(numberedParameters(sql)).toBe(expected);
});
