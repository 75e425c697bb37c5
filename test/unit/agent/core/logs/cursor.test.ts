import fc from "fast-check";
import { expect, test } from "vitest";
import { type DatedLine, LogCursor } from "../../../../../src/agent/core/logs/cursor.ts";
import { nanoseconds } from "../../../../../src/agent/core/logs/time.ts";

type Line = DatedLine & { readonly index: number };

const date = (seconds: number): string => new Date(seconds * 1000).toISOString().replace("Z", "000001Z");

const at = (index: number, stream: Line["stream"], seconds: number): Line => {
  return { index, stream, time: date(seconds) };
};

/** Reads the log in streams that end where told; each begins where the cursor says. */
function readInStreams(log: readonly Line[], ends: readonly number[], tail: number = Infinity): number[] {
  const cursor = new LogCursor({ tail });
  const seen: number[] = [];
  let written = 0;
  for (const [stream, end] of [...ends, log.length].entries()) {
    written = Math.max(written, Math.min(end, log.length));
    const { since } = cursor;
    cursor.resume();
    const from = log.slice(0, written).filter(({ time }) => (nanoseconds(time) ?? 0n) >= (since ?? 0n));
    const answered = stream === 0 && Number.isFinite(tail) ? from.slice(-tail) : from;
    seen.push(...answered.filter((line) => cursor.take(line)).map(({ index }) => index));
  }
  return seen;
}

// A coarse clock: many lines share a time. The two outputs are each in order, and up to some seconds apart.
const logs = fc
  .array(fc.record({ isError: fc.boolean(), after: fc.nat({ max: 3 }), late: fc.nat({ max: 4 }) }), { maxLength: 30 })
  .map((lines) => {
    let now = 1_000_000;
    const last = { stdout: 0, stderr: 0 };
    return lines.map(({ isError, after, late }, index): Line => {
      const stream = isError ? "stderr" : "stdout";
      now += after;
      last[stream] = Math.max(last[stream], now - late);
      return { index, stream, time: date(last[stream]) };
    });
  });

test("a log read in any number of streams is read completely and without repetition", () => {
  fc.assert(
    fc.property(logs, fc.array(fc.nat({ max: 30 })), (log, ends) => {
      expect(readInStreams(log, ends)).toEqual(log.map(({ index }) => index));
    }),
  );
});

test("lines older than requested are not read later", () => {
  const log = [at(0, "stderr", 1), at(1, "stdout", 2), at(2, "stdout", 3), at(3, "stderr", 4)];
  expect(readInStreams(log, [3, 4], 1)).toEqual([2, 3]);
});

test("lines written after the clock was set back are read, at worst with repetitions", () => {
  const seconds = [100, 101, 40, 41, 42];
  const log = seconds.map((second, index): Line => ({ index, stream: "stdout", time: date(second) }));
  expect(readInStreams(log, [])).toEqual([0, 1, 2, 3, 4]);
  expect(new Set(readInStreams(log, [4, 5]))).toEqual(new Set([0, 1, 2, 3, 4]));
});

test("times of engines are read to the nanosecond, in any zone", () => {
  expect(nanoseconds("1970-01-01T00:00:01.000000002Z")).toBe(1_000_000_002n);
  expect(nanoseconds("1970-01-01T01:00:01.5+01:00")).toBe(1_500_000_000n);
  for (const text of ["", "now", "2026-11-20", "2026-13-45T99:99:99Z", "2026-11-20T10:00:00"]) {
    expect(nanoseconds(text)).toBeUndefined();
  }
});
