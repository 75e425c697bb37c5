import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decideDownload, type DataPolicy } from "../../../../../src/agent/core/traffic/data-budget.ts";
import {
  isInWindows,
  minuteOfDay,
  nextWindowStartMs,
  parseTimeWindow,
} from "../../../../../src/agent/core/traffic/time-window.ts";
import { NETWORK_KINDS } from "../../../../../src/agent/core/traffic/network-kind.ts";

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const NOW = Date.UTC(2026, 10, 21, 12, 34, 56, 789);

const FREE: DataPolicy = {
  metered: ["modem", "other"],
  dailyBytes: undefined,
  monthlyBytes: undefined,
  bytesPerSecond: undefined,
  hours: [],
  timeZone: "UTC",
};
const UNUSED = { today: 0, thisMonth: 0 };
const night = parseTimeWindow("22:00-05:00") ?? { from: 0, to: 1 };

const anyMoment = fc.integer({ min: Date.UTC(2026, 0, 1), max: Date.UTC(2030, 0, 1) });
const anyHours = fc
  .tuple(fc.integer({ min: 0, max: 1_439 }), fc.integer({ min: 0, max: 1_440 }))
  .filter(([from, to]) => from !== to)
  .map(([from, to]) => ({ from, to }));
const anyZone = fc.constantFrom("UTC", "Europe/Vienna", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu");

describe("hours", () => {
  it.each([
    ["22:00-05:00", { from: 1_320, to: 300 }],
    ["00:00-24:00", { from: 0, to: 1_440 }],
    ["08:15-08:30", { from: 495, to: 510 }],
    ["8:00-9:00", undefined],
    ["24:00-01:00", undefined],
    ["10:00-10:00", undefined],
    ["10:60-11:00", undefined],
    ["10:00-24:30", undefined],
    ["night", undefined],
  ])("%s", (text, expected) => {
    expect(parseTimeWindow(text)).toEqual(expected);
  });

  it("may span midnight", () => {
    expect([21, 22, 23, 0, 4, 5, 12].map((hour) => isInWindows([night], hour * 60))).toEqual([
      false,
      true,
      true,
      true,
      true,
      false,
      false,
    ]);
  });

  it("begin next at the earliest time within them, across changes of daylight saving time", () => {
    fc.assert(
      fc.property(fc.array(anyHours, { minLength: 1, maxLength: 3 }), anyMoment, anyZone, (hours, now, zone) => {
        const next = nextWindowStartMs(hours, now, zone);
        expect(isInWindows(hours, minuteOfDay(next, zone))).toBe(true);
        expect(next).toBeGreaterThanOrEqual(now);
        expect(next - now).toBeLessThanOrEqual(2 * DAY);
        if (next === now) return;
        const before = [1, 2, 15, 30, 60].map((minutes) => next - minutes * MINUTE).filter((at) => at > now);
        for (const at of before) expect(isInWindows(hours, minuteOfDay(at, zone))).toBe(false);
      }),
      { numRuns: 200 },
    );
  });

  it("begin when clocks are set forward into them", () => {
    // On this island by half an hour, at two o'clock.
    const hours = [{ from: 121, to: 152 }];
    const changeMs = Date.UTC(2027, 9, 2, 15, 30);
    const before = changeMs - 18 * 60 * MINUTE;
    expect(nextWindowStartMs(hours, before, "Australia/Lord_Howe")).toBe(changeMs);
  });

  it("apply in their time zone", () => {
    expect(nextWindowStartMs([night], NOW, "UTC")).toBe(Date.UTC(2026, 10, 21, 22));
    expect(nextWindowStartMs([night], NOW, "Europe/Vienna")).toBe(Date.UTC(2026, 10, 21, 21));
  });
});

describe("a download", () => {
  it("begins on an unmetered network regardless of usage and time", () => {
    const strict = { ...FREE, dailyBytes: 1, monthlyBytes: 1, hours: [night] };
    expect(decideDownload(strict, "ethernet", 1e9, { today: 1e9, thisMonth: 1e9 }, NOW)).toEqual({ kind: "admit" });
    expect(decideDownload(strict, "ethernet", 1e9, UNUSED, 0)).toEqual({ kind: "admit" });
  });

  it("waits for the hours", () => {
    const admission = decideDownload({ ...FREE, hours: [night] }, "modem", 10, UNUSED, NOW);
    expect(admission).toEqual({ kind: "wait", reason: "hours", untilMs: Date.UTC(2026, 10, 21, 22) });
  });

  it("waits for the next day or month if the budget would be exceeded, and then for the hours", () => {
    const daily = { ...FREE, dailyBytes: 100 };
    expect(decideDownload(daily, "modem", 60, { today: 40, thisMonth: 40 }, NOW)).toEqual({ kind: "admit" });
    expect(decideDownload(daily, "modem", 61, { today: 40, thisMonth: 40 }, NOW)).toEqual({
      kind: "wait",
      reason: "daily_budget",
      untilMs: Date.UTC(2026, 10, 22),
    });
    const monthly = { ...FREE, monthlyBytes: 100, dailyBytes: 90 };
    expect(decideDownload(monthly, "modem", 61, { today: 40, thisMonth: 40 }, NOW)).toMatchObject({
      reason: "monthly_budget",
      untilMs: Date.UTC(2026, 11, 1),
    });
    const noon = parseTimeWindow("12:00-13:00") ?? night;
    expect(decideDownload({ ...daily, hours: [noon] }, "modem", 61, { today: 40, thisMonth: 40 }, NOW)).toMatchObject({
      reason: "daily_budget",
      untilMs: Date.UTC(2026, 10, 22, 12),
    });
  });

  it("of unknown size begins while any budget is left", () => {
    const daily = { ...FREE, dailyBytes: 100 };
    expect(decideDownload(daily, "modem", 0, { today: 99, thisMonth: 99 }, NOW).kind).toBe("admit");
    expect(decideDownload(daily, "modem", 0, { today: 100, thisMonth: 100 }, NOW).kind).toBe("wait");
  });

  it("that is larger than the whole budget never begins", () => {
    expect(decideDownload({ ...FREE, dailyBytes: 100 }, "modem", 101, UNUSED, NOW)).toEqual({
      kind: "never",
      reason: "daily_budget",
      limit: 100,
    });
  });

  it("waits while the clock is not set, if any limit depends on it", () => {
    expect(decideDownload({ ...FREE, hours: [night] }, "modem", 1, UNUSED, 86_400_000)).toEqual({
      kind: "wait",
      reason: "clock",
      untilMs: undefined,
    });
    expect(decideDownload(FREE, "modem", 1, UNUSED, 86_400_000)).toEqual({ kind: "admit" });
  });

  it("that may begin may also begin with a smaller size or less usage", () => {
    const amount = fc.nat(200);
    fc.assert(
      fc.property(
        amount,
        amount,
        amount,
        amount,
        fc.constantFrom(...NETWORK_KINDS),
        (bytes, used, less, limit, kind) => {
          const policy = { ...FREE, dailyBytes: limit, monthlyBytes: limit };
          const usage = { today: used, thisMonth: used };
          if (decideDownload(policy, kind, bytes, usage, NOW).kind !== "admit") return;
          const lighter = { today: Math.max(0, used - less), thisMonth: Math.max(0, used - less) };
          expect(decideDownload(policy, kind, Math.max(0, bytes - less), lighter, NOW).kind).toBe("admit");
        },
      ),
    );
  });
});
