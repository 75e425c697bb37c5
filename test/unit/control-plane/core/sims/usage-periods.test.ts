import fc from "fast-check";
import { expect, test } from "vitest";
import { partsOf, sumUsage } from "../../../../../src/control-plane/core/sims/usage-periods.ts";

const HOUR = 3600;
const DAY = 24 * HOUR;
const time = fc.integer({ min: 1_700_000_000, max: 1_700_000_000 + 40 * DAY });

test("the parts of a range are every hour that begins in it, once, in whole days where that is possible", () => {
  fc.assert(
    fc.property(time, time, (one, other) => {
      const range = { start: Math.min(one, other), end: Math.max(one, other) };
      const parts = partsOf(range);
      const hours = parts.flatMap(({ start, end }) =>
        Array.from({ length: (end - start) / HOUR }, (_, index) => start + index * HOUR),
      );
      const expected: number[] = [];
      for (let hour = Math.ceil(range.start / HOUR) * HOUR; hour < range.end; hour += HOUR) expected.push(hour);
      expect(hours).toEqual(expected);
      expect(parts.length).toBeLessThanOrEqual(3);
      for (const { start, end, period } of parts) {
        if (period === "day") expect([start % DAY, end % DAY]).toEqual([0, 0]);
        else expect(end - start).toBeLessThan(period === "hour" ? 2 * DAY : 0);
      }
    }),
  );
});

test("sums are the same whatever the order", () => {
  const counted = fc.record({
    bucket: fc.constantFrom("a", "b"),
    start: time,
    bytes: fc.integer({ min: 0, max: 2 ** 40 }),
  });
  fc.assert(
    fc.property(fc.array(counted), fc.constantFrom("all", "hour", "day", "month"), (list, granularity) => {
      const sums = sumUsage(list, granularity);
      expect(sumUsage(list.toReversed(), granularity)).toEqual(sums);
      expect(sums.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(list.reduce((sum, { bytes }) => sum + bytes, 0));
    }),
  );
});
