import { describe, expect, it, test } from "vitest";
import {
  compareUsage,
  isOutdated,
  rangeOf,
  readPeriod,
  sourcesOf,
  type UsageDay,
  usageDays,
  type UsageRange,
} from "../../../src/console/pages/asset/usage-days.ts";
import { someLedgerDay } from "../../support/control-plane/device-samples.ts";

const DAY = 86_400;
const from = Date.UTC(2026, 10, 1) / 1000;

/** A day after the first one. */
function day(index: number, sims: number | null, agent: number | null, device: number | null = null): UsageDay {
  return { at: from + index * DAY, sims, bySim: [sims], agent, device };
}

describe("usage by day", () => {
  it("joins the counts, and tells nothing used from not known", () => {
    const usages = [
      { total: 5, start_time: from, end_time: from + DAY },
      { total: 7, start_time: from, end_time: from + DAY },
    ];
    const range = { from, to: from + 2 * DAY - 1 };
    expect(usageDays(range, [usages], [someLedgerDay("2026-11-02", 10)])).toEqual([
      { at: from, sims: 12, bySim: [12], agent: null, device: null },
      { at: from + DAY, sims: 0, bySim: [0], agent: 60, device: 300 },
    ]);
    expect(usageDays({ from, to: from + 1 }, [undefined], undefined)).toMatchObject([{ sims: null, agent: null }]);
  });

  it("sums the SIMs of a day, and never without one whose operator has not answered", () => {
    const entry = { total: 5, start_time: from };
    const range = { from, to: from + 1 };
    expect(usageDays(range, [[entry], [{ ...entry, total: 6 }]], undefined)).toMatchObject([
      { sims: 11, bySim: [5, 6] },
    ]);
    expect(usageDays(range, [[entry], undefined], undefined)).toMatchObject([{ sims: null, bySim: [5, null] }]);
  });

  it("has only the sources that have counted anything", () => {
    expect(sourcesOf([day(0, 0, null), day(1, 0, 0)])).toEqual([]);
    expect(sourcesOf([day(0, 0, null), day(1, 1, null, 7)])).toEqual(["sims", "device"]);
  });
});

/** As an operator says it. */
const told = (finalUntil: number) => ({ finalUntil, isImported: [false] });

describe("the difference of both counts", () => {
  it("is that of the days both counted, with what other programs transferred", () => {
    const days = [day(0, 100, null), day(1, 100, 30, 90), day(2, 50, 20, 10), day(3, null, 70)];
    expect(compareUsage(days, told(from))).toEqual({
      days: 2,
      sims: 150,
      agent: 50,
      // The second of these days the device's counters began anew: that is no reason to subtract.
      others: 60,
      exceeding: [],
      exceedingYoung: 0,
    });
    expect(compareUsage([day(0, 100, 30)], told(from)).others).toBeUndefined();
    expect(compareUsage([], told(from)).days).toBe(0);
  });

  it("leaves out days on which nothing was imported: that is not the same as nothing used", () => {
    const days = [day(0, 10, 5), day(1, 0, 5), day(2, 4, 5)];
    const imported = { finalUntil: from + 3 * DAY, isImported: [true] };
    expect(compareUsage(days, imported)).toMatchObject({ days: 2, sims: 14, agent: 10, exceeding: [days[2]] });
    const both = [{ ...day(0, 10, 50), bySim: [10, 0] }];
    expect(compareUsage(both, { ...imported, isImported: [true, false] }).days).toBe(1);
    expect(compareUsage(both, { ...imported, isImported: [false, true] }).days).toBe(0);
  });

  it("warns of days on which the agent counted more, once they are final to their end", () => {
    const days = [day(0, 10, 11), day(1, 10, 10), day(2, 0, 5), day(3, 4, 5)];
    const { exceeding, exceedingYoung } = compareUsage(days, told(from + 3 * DAY));
    expect(exceeding.map(({ at }) => (at - from) / DAY)).toEqual([0, 2]);
    expect(exceedingYoung).toBe(1);
    expect(compareUsage(days, told(from + 3 * DAY - 1)).exceeding).toHaveLength(1);
  });
});

test.each([
  [{ as_of: from }, 900, false],
  [{ as_of: from }, 1201, true],
  // Imported usage has no operator that could be away.
  [{}, 5000, false],
])("an answer %j that was fetched %d s later is outdated: %s", (answer, age, expected) => {
  expect(isOutdated({ ...answer, finalized_until: from, fetchedAt: from + age }, from + DAY)).toBe(expected);
  // Final usage is not asked for again.
  expect(isOutdated({ ...answer, finalized_until: from + DAY, fetchedAt: from + age }, from + DAY)).toBe(false);
});

/** The first and the last minute of a range. */
function ends({ from: start, to }: UsageRange): string[] {
  return [start, to - 1].map((time) => new Date(time * 1000).toISOString().slice(0, 16));
}

describe("periods", () => {
  const now = Date.UTC(2026, 0, 15, 10, 30) / 1000;

  it.each([
    ["month", "2026-01-01T00:00", "2026-01-15T10:30"],
    ["last_month", "2025-12-01T00:00", "2025-12-31T23:59"],
    ["7d", "2026-01-09T00:00", "2026-01-15T10:30"],
    ["30d", "2025-12-17T00:00", "2026-01-15T10:30"],
    ["90d", "2025-10-18T00:00", "2026-01-15T10:30"],
  ] as const)("%s", (period, first, last) => {
    expect(ends(rangeOf(period, now))).toEqual([first, last]);
  });

  it("are never empty, and an unknown one is this month", () => {
    const start = Date.UTC(2026, 1, 1) / 1000;
    expect(rangeOf("month", start)).toEqual({ from: start, to: start + 1 });
    expect([readPeriod(null), readPeriod("toString"), readPeriod("7d")]).toEqual(["month", "month", "7d"]);
  });
});
