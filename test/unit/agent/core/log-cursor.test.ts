import fc from "fast-check";
import { expect, test } from "vitest";
import { LogCursor } from "../../../../src/agent/core/log-cursor.ts";
import { nanoseconds } from "../../../../src/agent/core/log-time.ts";

test("a log read in any number of streams is read once and whole", () => {
  // A coarse clock: many lines share a time. Each stream ends somewhere; the next begins at the time read last.
  const times = fc.array(fc.nat({ max: 5 }), { maxLength: 30 }).map((times) => times.toSorted((a, b) => a - b));
  fc.assert(
    fc.property(times, fc.array(fc.nat({ max: 30 })), (times, ends) => {
      const log = times.map((second, index) => ({ index, timestamp: `2026-11-20T10:00:0${second}.000000001Z` }));
      const cursor = new LogCursor();
      const seen: number[] = [];
      let written = 0;
      for (const end of [...ends, log.length]) {
        written = Math.max(written, Math.min(end, log.length));
        const { since } = cursor;
        cursor.resume();
        const stream = log.slice(0, written).filter(({ timestamp }) => (nanoseconds(timestamp) ?? 0n) >= (since ?? 0n));
        seen.push(...stream.filter(({ timestamp }) => cursor.take(timestamp)).map(({ index }) => index));
      }
      expect(seen).toEqual(log.map(({ index }) => index));
    }),
  );
});

test("times of engines are read to the nanosecond, in any zone", () => {
  expect(nanoseconds("1970-01-01T00:00:01.000000002Z")).toBe(1_000_000_002n);
  expect(nanoseconds("1970-01-01T01:00:01.5+01:00")).toBe(1_500_000_000n);
  for (const text of ["", "now", "2026-11-20", "2026-13-45T99:99:99Z", "2026-11-20T10:00:00"]) {
    expect(nanoseconds(text)).toBeUndefined();
  }
});
