import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type DayUsage,
  forecastDataPlan,
  judgementHoldsS,
  type DataPlanQuestion,
  planRange,
} from "../../../../../src/control-plane/core/sims/plan-forecast.ts";

const MB = 1_000_000;
const DAY = 24 * 3600;
const at = (text: string): number => Date.parse(text) / 1000;

const days = (usage: Readonly<Record<string, number>>): DayUsage[] =>
  Object.entries(usage).map(([day, megabytes]) => ({ start: at(`${day}T00:00:00Z`), bytes: megabytes * MB }));

/** The case of docs/sim-plans.md, computed by hand. */
const HAND: DataPlanQuestion = {
  allowanceBytes: 1000 * MB,
  days: days({
    "2026-11-01": 10,
    "2026-11-02": 10,
    "2026-11-03": 10,
    "2026-11-04": 20,
    "2026-11-05": 30,
    "2026-11-06": 40,
    "2026-11-07": 50,
    "2026-11-08": 60,
    "2026-11-09": 70,
    "2026-11-10": 80,
    "2026-11-11": 25,
  }),
  registeredAt: at("2026-01-05T08:00:00Z"),
  now: at("2026-11-11T12:00:00Z"),
};

describe("the case computed by hand", () => {
  test("405 MB used; 50 MB a day for 19.5 days: 1380 MB; 595 MB more last for 11.9 days", () => {
    expect(forecastDataPlan(HAND)).toEqual({
      month: { start: at("2026-11-01T00:00:00Z"), end: at("2026-12-01T00:00:00Z") },
      usedBytes: 405 * MB,
      forecastBytes: 1380 * MB,
      exceededAt: at("2026-11-23T09:36:00Z"),
      state: "foreseen",
    });
  });

  test("an allowance that will do is not exceeded", () => {
    expect(forecastDataPlan({ ...HAND, allowanceBytes: 1380 * MB + 1 })).toMatchObject({
      state: "ok",
      exceededAt: undefined,
    });
    const exact = forecastDataPlan({ ...HAND, allowanceBytes: 1380 * MB });
    expect(exact).toMatchObject({ state: "foreseen", exceededAt: at("2026-12-01T00:00:00Z") });
  });

  test("a spent one was exceeded on the day on which the sum reached it", () => {
    // 30 by 3 November, 50 by the 4th, 80 by the 5th.
    const spent = {
      state: "spent",
      exceededAt: at("2026-11-05T00:00:00Z"),
      usedBytes: 405 * MB,
      forecastBytes: 1380 * MB,
    };
    expect(forecastDataPlan({ ...HAND, allowanceBytes: 80 * MB })).toMatchObject(spent);
    expect(forecastDataPlan({ ...HAND, allowanceBytes: 51 * MB })).toMatchObject(spent);
    expect(forecastDataPlan({ ...HAND, allowanceBytes: 405 * MB })).toMatchObject({
      state: "spent",
      exceededAt: at("2026-11-11T00:00:00Z"),
    });
  });

  test("a correction of a day counts as if it had always been so", () => {
    const corrected = HAND.days.map((day) =>
      day.start === at("2026-11-10T00:00:00Z") ? { ...day, bytes: 10 * MB } : day,
    );
    // 335 MB used; 280 MB in seven days.
    expect(forecastDataPlan({ ...HAND, days: corrected })).toMatchObject({
      usedBytes: 335 * MB,
      forecastBytes: (335 + 40 * 19.5) * MB,
    });
  });
});

describe("days that are not there", () => {
  test("without usage a day counts as none: 70 MB on one of seven days is 10 MB a day", () => {
    const question = { ...HAND, days: days({ "2026-11-08": 70 }) };
    expect(forecastDataPlan(question)).toMatchObject({ usedBytes: 70 * MB, forecastBytes: (70 + 195) * MB });
  });

  test("before a SIM was known a day does not count", () => {
    const question = { ...HAND, days: days({ "2026-11-09": 30, "2026-11-10": 50 }) };
    // The 8th is not a whole day.
    const known = forecastDataPlan({ ...question, registeredAt: at("2026-11-08T00:00:01Z") });
    expect(known.forecastBytes).toBe((80 + 40 * 19.5) * MB);
    const exactly = forecastDataPlan({ ...question, registeredAt: at("2026-11-09T00:00:00Z") });
    expect(exactly.forecastBytes).toBe((80 + 40 * 19.5) * MB);
    const earlier = forecastDataPlan({ ...question, days: [...question.days, ...days({ "2026-11-07": 0 })] });
    expect(earlier.forecastBytes).toBe(80 * MB + Math.floor((80 * MB * 19.5) / 7));
  });

  test("imported usage of before the asset was registered counts", () => {
    const question = { ...HAND, days: days({ "2026-11-09": 30, "2026-11-10": 50 }) };
    const late = forecastDataPlan({ ...question, registeredAt: at("2026-11-11T09:00:00Z") });
    expect(late.forecastBytes).toBe((80 + 40 * 19.5) * MB);
  });

  test("with no whole day yet, nothing more is expected than was used", () => {
    const question = { ...HAND, days: days({ "2026-11-11": 25 }), registeredAt: at("2026-11-11T00:00:01Z") };
    expect(forecastDataPlan(question)).toMatchObject({ usedBytes: 25 * MB, forecastBytes: 25 * MB, state: "ok" });
    expect(forecastDataPlan({ ...question, allowanceBytes: 25 * MB })).toMatchObject({ state: "spent" });
  });

  test("on the first of a month the mean is of the month before, and nothing of that is used", () => {
    const now = at("2026-12-01T00:00:00Z");
    const question = { ...HAND, days: days({ "2026-11-24": 7, "2026-11-30": 7, "2026-11-23": 1000 }), now };
    expect(forecastDataPlan(question)).toMatchObject({ usedBytes: 0, forecastBytes: 2 * 31 * MB });
    expect(planRange(now)).toEqual({ start: at("2026-11-24T00:00:00Z"), end: at("2026-12-02T00:00:00Z") });
  });
});

const usage = fc
  .uniqueArray(fc.record({ day: fc.nat({ max: 80 }), bytes: fc.maxSafeNat() }), { selector: ({ day }) => day })
  .map((all) => all.map(({ day, bytes }) => ({ start: at("2026-09-15T00:00:00Z") + day * DAY, bytes })));
const anyQuestion: fc.Arbitrary<DataPlanQuestion> = fc.record({
  allowanceBytes: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  days: usage,
  registeredAt: fc.integer({ min: at("2026-09-01T00:00:00Z"), max: at("2026-12-01T00:00:00Z") }),
  now: fc.integer({ min: at("2026-10-01T00:00:00Z"), max: at("2026-12-01T00:00:00Z") }),
});

describe("whatever was used", () => {
  test("state, forecast and time of exceeding say the same, and every value is safe", () => {
    fc.assert(
      fc.property(anyQuestion, (question) => {
        const { month, usedBytes, forecastBytes, exceededAt, state } = forecastDataPlan(question);
        const { allowanceBytes, now } = question;
        expect(Number.isSafeInteger(usedBytes) && Number.isSafeInteger(forecastBytes)).toBe(true);
        expect(forecastBytes).toBeGreaterThanOrEqual(usedBytes);
        expect(state === "spent").toBe(usedBytes >= allowanceBytes);
        expect(state === "ok").toBe(forecastBytes < allowanceBytes);
        if (state === "ok") expect(exceededAt).toBeUndefined();
        if (state === "foreseen") {
          expect(exceededAt).toBeGreaterThan(now);
          expect(exceededAt).toBeLessThanOrEqual(month.end);
        }
        if (state === "spent") {
          expect(exceededAt).toBeGreaterThanOrEqual(month.start);
          expect(exceededAt).toBeLessThanOrEqual(now);
        }
      }),
    );
  });

  test("the order of days does not matter, nor what is outside of the range that is asked for", () => {
    fc.assert(
      fc.property(anyQuestion, (question) => {
        const { start, end } = planRange(question.now);
        const needed = question.days.filter((day) => day.start >= start && day.start < end).toReversed();
        expect(forecastDataPlan({ ...question, days: needed })).toEqual(forecastDataPlan(question));
      }),
    );
  });

  test("more use is never forecast as less, nor exceeded later", () => {
    fc.assert(
      fc.property(anyQuestion, fc.nat(), (question, more) => {
        const before = forecastDataPlan(question);
        // The first day is left as it is: it may be what says how long the SIM has been known.
        const [first, ...others] = question.days.toSorted((one, other) => one.start - other.start);
        const days = others.map(({ start, bytes }) => ({ start, bytes: bytes > 0 ? bytes + more : 0 }));
        const after = forecastDataPlan({ ...question, days: first ? [first, ...days] : [] });
        expect(after.forecastBytes).toBeGreaterThanOrEqual(before.forecastBytes);
        if (before.exceededAt !== undefined) expect(after.exceededAt).toBeLessThanOrEqual(before.exceededAt);
      }),
    );
  });
});

test.each([
  [499_999, 1_000_000, 6],
  [500_000, 1_000_000, 1],
  [0, 1, 6],
  [3_000_000, 1_000_000, 1],
])("a forecast of %i of %i bytes holds for %i hours", (forecastBytes, allowanceBytes, hours) => {
  expect(judgementHoldsS({ forecastBytes }, allowanceBytes)).toBe(hours * 3600);
});
