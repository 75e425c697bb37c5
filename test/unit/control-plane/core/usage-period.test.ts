import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { configSchema } from "../../../../src/control-plane/config/config.ts";
import { clipPeriod, finalizedUntil, periodOf, resolveRange } from "../../../../src/control-plane/core/usage-period.ts";

const at = (text: string): number => Date.parse(text) / 1000;
const instant = fc.integer({ min: 0, max: at("2100-01-01T00:00:00Z") });
const period = fc.constantFrom("hour" as const, "day" as const, "month" as const);

describe("periods in UTC", () => {
  test.each([
    ["hour", "2026-02-28T23:59:59Z", "2026-02-28T23:00:00Z", "2026-03-01T00:00:00Z"],
    ["day", "2024-02-29T12:00:00Z", "2024-02-29T00:00:00Z", "2024-03-01T00:00:00Z"],
    ["month", "2024-02-29T12:00:00Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"],
    ["month", "2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
    // Clocks in Europe go forward on this day; UTC does not.
    ["day", "2026-03-29T01:30:00Z", "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"],
  ] as const)("the %s of %s", (kind, time, start, end) => {
    expect(periodOf(at(time), kind)).toEqual({ start: at(start), end: at(end) });
  });

  test("every instant lies in exactly one, and they join without gap", () => {
    fc.assert(
      fc.property(instant, period, (time, kind) => {
        const found = periodOf(time, kind);
        expect(found.start).toBeLessThanOrEqual(time);
        expect(found.end).toBeGreaterThan(time);
        expect(periodOf(found.start, kind)).toEqual(found);
        expect(periodOf(found.end - 1, kind)).toEqual(found);
        expect(periodOf(found.end, kind).start).toBe(found.end);
      }),
    );
  });

  test("the first and the last are cut to the range", () => {
    const range = { start: at("2026-03-10T06:30:00Z"), end: at("2026-03-20T00:00:00Z") };
    expect(clipPeriod(at("2026-03-01T00:00:00Z"), "month", range)).toEqual(range);
    expect(clipPeriod(at("2026-03-10T06:00:00Z"), "hour", range)).toEqual({
      start: range.start,
      end: at("2026-03-10T07:00:00Z"),
    });
  });
});

describe("range", () => {
  const now = Date.parse("2026-11-20T12:00:00.500Z");

  test("is the current month until now unless asked otherwise", () => {
    expect(resolveRange({}, now)).toEqual({ start: at("2026-11-01T00:00:00Z"), end: at("2026-11-20T12:00:00Z") });
  });

  test("in the first second of a month the default is not empty", () => {
    const first = Date.parse("2026-11-01T00:00:00Z");
    expect(resolveRange({}, first)).toEqual({ start: first / 1000, end: first / 1000 + 1 });
  });

  test.each([
    [{ start_time: 100, end_time: 100 }],
    [{ start_time: 101, end_time: 100 }],
    [{ start_time: now / 1000 + 60 }],
    [{ end_time: at("2026-10-01T00:00:00Z") }],
    [{ start_time: 0, end_time: 400 * 86_400 + 1 }],
  ])("refuses %j", (query) => {
    const rounded = Object.fromEntries(Object.entries(query).map(([key, value]) => [key, Math.ceil(value)]));
    expect(() => resolveRange(rounded, now)).toThrow(expect.objectContaining({ code: "InvalidRequest" }));
  });

  test("400 days are allowed", () => {
    expect(resolveRange({ start_time: 0, end_time: 400 * 86_400 }, now).end).toBe(400 * 86_400);
  });
});

test("usage is final 48 hours back for a Super SIM and 72 for a PRO SIM", () => {
  const now = Date.parse("2026-11-20T12:00:00Z");
  const { supersim_finalization_s: supersim, prosim_finalization_s: prosim } = configSchema.parse({});
  expect(finalizedUntil(now, { supersim, prosim }, "supersim")).toBe(at("2026-11-18T12:00:00Z"));
  expect(finalizedUntil(now, { supersim, prosim }, "prosim")).toBe(at("2026-11-17T12:00:00Z"));
  expect(finalizedUntil(now, { supersim: 60, prosim: 1 }, "supersim")).toBe(now / 1000 - 60);
});
