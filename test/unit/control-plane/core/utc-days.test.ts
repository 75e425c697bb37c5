import { expect, test } from "vitest";
import { resolveDays } from "../../../../src/control-plane/core/utc-days.ts";

const NOON = Date.UTC(2026, 10, 20, 12);

test.each([
  [{}, "2026-11-01", "2026-11-20"],
  [{ to: "2026-10-05" }, "2026-10-01", "2026-10-05"],
  [{ from: "2026-11-20" }, "2026-11-20", "2026-11-20"],
  [{ from: "2024-02-29", to: "2024-03-01" }, "2024-02-29", "2024-03-01"],
  [{ to: "2027-01-15" }, "2026-11-01", "2027-01-15"],
])("%j is from %s to %s", (query, from, to) => {
  expect(resolveDays(query, NOON).days).toEqual({ from, to });
});

test("the range in seconds begins and ends at midnight UTC, the last day included", () => {
  expect(resolveDays({ from: "2026-11-01", to: "2026-11-01" }, NOON).range).toEqual({
    start: Date.UTC(2026, 10, 1) / 1000,
    end: Date.UTC(2026, 10, 2) / 1000,
  });
});

test.each([
  { from: "2026-02-30" },
  { to: "2026-00-10" },
  { from: "2026-11-21" },
  { from: "2026-11-02", to: "2026-11-01" },
  { from: "2025-10-01", to: "2026-11-20" },
])("%j is refused", (query) => {
  expect(() => resolveDays(query, NOON)).toThrow(expect.objectContaining({ code: "InvalidRequest" }));
});
