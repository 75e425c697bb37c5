import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type ConnectionInterval,
  periodsOf,
  spansOf,
  uptimesOf,
  disconnectReasonOf,
} from "../../../../src/control-plane/core/connectivity.ts";
import { CLOSE_CODES } from "../../../../src/protocol/link/frames.ts";

const DAY = 86_400;
const at = (text: string): number => Date.parse(text) / 1000;

const interval = (
  startedAt: number,
  endedAt?: number,
  fields: Partial<ConnectionInterval> = {},
): ConnectionInterval => ({
  startedAt,
  endedAt,
  endReason: endedAt === undefined ? undefined : "lost",
  takeovers: 0,
  interruptions: 0,
  interruptedS: 0,
  longestInterruptionS: 0,
  ...fields,
});

describe("the parts of a device's time", () => {
  const intervals = [interval(400), interval(200, 300, { endReason: "closed" }), interval(100, 150)];

  test("are connected and disconnected in turn, each gap with why the interval before it ended", () => {
    const spans = spansOf(intervals, { from: 0, to: 500 });
    expect(spans.map(({ state, from, to, isOpen }) => [state, from, to, isOpen])).toEqual([
      ["connected", 400, 500, true],
      ["disconnected", 300, 400, false],
      ["connected", 200, 300, false],
      ["disconnected", 150, 200, false],
      ["connected", 100, 150, false],
    ]);
    expect(spans.flatMap((span) => (span.state === "disconnected" ? [span.reason] : []))).toEqual(["closed", "lost"]);
  });

  test("end with the range, and a device that is away is so until its end", () => {
    const states = spansOf(intervals.slice(1), { from: 120, to: 350 });
    expect(states.map(({ state, from, to, isOpen }) => [state, from, to, isOpen])).toEqual([
      ["disconnected", 300, 350, true],
      ["connected", 200, 300, false],
      ["disconnected", 150, 200, false],
      ["connected", 120, 150, false],
    ]);
    expect(spansOf([], { from: 0, to: 9 })).toEqual([]);
    expect(spansOf([interval(0, 5)], { from: 10, to: 20 })).toMatchObject([
      { state: "disconnected", from: 10, to: 20 },
    ]);
  });

  test("lie beside each other, whatever the intervals, also of a clock that went back", () => {
    const someIntervals = fc
      .array(fc.tuple(fc.nat(1_000), fc.option(fc.nat(1_000), { nil: undefined })), { maxLength: 20 })
      .map((pairs) =>
        pairs
          .map(([start, length]) => interval(start, length === undefined ? undefined : start + length))
          .toSorted((a, b) => b.startedAt - a.startedAt),
      );
    fc.assert(
      fc.property(someIntervals, fc.nat(1_000), fc.integer({ min: 1, max: 1_000 }), (found, from, length) => {
        const to = from + length;
        const spans = spansOf(found, { from, to });
        let until = to;
        for (const span of spans) {
          expect(span.to).toBe(until);
          expect(span.from).toBeLessThan(span.to);
          until = span.from;
        }
        expect(until).toBeGreaterThanOrEqual(from);
        const uptimes = uptimesOf(found, [
          { from, to: from + Math.ceil(length / 2) },
          { from: from + Math.ceil(length / 2), to },
        ]);
        const [all] = uptimesOf(found, [{ from, to }]);
        expect(uptimes.reduce((sum, { connectedS }) => sum + connectedS, 0)).toBe(all?.connectedS);
        expect(uptimes.reduce((sum, { knownS }) => sum + knownS, 0)).toBe(to - until);
      }),
    );
  });
});

test("uptime counts connected time by period, gaps, and interruptions by their share", () => {
  const intervals = [
    interval(2 * DAY, undefined, { interruptions: 2, interruptedS: 100, longestInterruptionS: 60 }),
    interval(DAY / 2, DAY + 600),
  ];
  const uptimes = uptimesOf(intervals, periodsOf({ from: 0, to: 4 * DAY }, "day"));
  expect(uptimes).toEqual([
    { from: 0, to: DAY, knownS: DAY / 2, connectedS: DAY / 2, disconnections: 0, longestGapS: 0 },
    { from: DAY, to: 2 * DAY, knownS: DAY, connectedS: 600, disconnections: 1, longestGapS: DAY - 600 },
    { from: 2 * DAY, to: 3 * DAY, knownS: DAY, connectedS: DAY - 50, disconnections: 1, longestGapS: 60 },
    { from: 3 * DAY, to: 4 * DAY, knownS: DAY, connectedS: DAY - 50, disconnections: 1, longestGapS: 60 },
  ]);
  expect(uptimesOf([], [{ from: 0, to: DAY }])).toEqual([
    { from: 0, to: DAY, knownS: 0, connectedS: 0, disconnections: 0, longestGapS: 0 },
  ]);
  expect(uptimesOf(intervals, [])).toEqual([]);
});

test("periods are days, weeks from Monday on, and months, in UTC, and end with the range", () => {
  const range = { from: at("2026-11-27T12:00:00Z"), to: at("2026-12-02T06:00:00Z") };
  const starts = (per: "day" | "week" | "month") =>
    periodsOf(range, per).map(({ from }) => new Date(from * 1000).toISOString().slice(0, 13));
  expect(starts("day")).toEqual([
    "2026-11-27T12",
    "2026-11-28T00",
    "2026-11-29T00",
    "2026-11-30T00",
    "2026-12-01T00",
    "2026-12-02T00",
  ]);
  expect(starts("week")).toEqual(["2026-11-27T12", "2026-11-30T00"]);
  expect(starts("month")).toEqual(["2026-11-27T12", "2026-12-01T00"]);
  expect(periodsOf(range, "week").at(-1)?.to).toBe(range.to);
});

test.each([
  [1000, "closed"],
  [CLOSE_CODES.goingAway, "closed"],
  [1006, "lost"],
  [undefined, "lost"],
  [CLOSE_CODES.replaced, "lost"],
  [CLOSE_CODES.restart, "service"],
  [CLOSE_CODES.unauthorized, "refused"],
  [CLOSE_CODES.badFrame, "refused"],
] as const)("close code %s means %s", (code, reason) => {
  expect(disconnectReasonOf(code)).toBe(reason);
});
