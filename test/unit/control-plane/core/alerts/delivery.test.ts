import fc from "fast-check";
import { expect, test } from "vitest";
import {
  afterAttempt,
  CHANNEL_PATIENCE_MS,
  DELIVERY_LIFETIME_MS,
} from "../../../../../src/control-plane/core/alerts/delivery.ts";
import { quietUntilMs } from "../../../../../src/control-plane/core/alerts/quiet-hours.ts";

const START = 1_800_000_000_000;
const failed = { kind: "failed", answer: "500" } as const;

test("a message is tried with growing pauses for a day", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (random) => {
      let now = START;
      let previous = 0;
      for (let attempts = 1; ; attempts++) {
        const step = afterAttempt(failed, { createdAtMs: START, attempts, failingSinceMs: START }, now, random);
        if (step.state === "failed") break;
        const pause = (step.dueMs ?? 0) - now;
        expect(pause).toBeGreaterThanOrEqual(Math.min(previous, 40 * 60_000));
        expect(pause).toBeLessThanOrEqual(90 * 60_000);
        [previous, now] = [pause, now + pause];
      }
      expect(now).toBeGreaterThan(START + DELIVERY_LIFETIME_MS - 90 * 60_000);
      expect(now).toBeLessThan(START + DELIVERY_LIFETIME_MS);
    }),
  );
});

test("a channel is disabled after days of failures, or at once by 410, and a success begins anew", () => {
  const attempted = { createdAtMs: START, attempts: 1, failingSinceMs: START - CHANNEL_PATIENCE_MS };
  expect(afterAttempt(failed, attempted, START, 0)).toMatchObject({ state: "failed", disables: true });
  expect(afterAttempt(failed, { ...attempted, failingSinceMs: START - 1 }, START, 0)).toMatchObject({
    disables: false,
  });
  expect(
    afterAttempt({ kind: "gone", answer: "410" }, { ...attempted, failingSinceMs: undefined }, START, 0),
  ).toMatchObject({
    state: "failed",
    disables: true,
  });
  expect(afterAttempt({ kind: "delivered", answer: "200" }, attempted, START, 0)).toEqual({
    state: "delivered",
    dueMs: undefined,
    failingSinceMs: undefined,
    disables: false,
  });
});

test("a pause that the other side asks for is made, within bounds", () => {
  const attempted = { createdAtMs: START, attempts: 1, failingSinceMs: undefined };
  const pauseFor = (retryAfterMs: number) =>
    (afterAttempt({ ...failed, retryAfterMs }, attempted, START, 0.5).dueMs ?? 0) - START;
  expect(pauseFor(1)).toBe(10_000);
  expect(pauseFor(120_000)).toBe(120_000);
  expect(pauseFor(1e12)).toBe(6 * 3_600_000);
});

test.each([
  ["at noon", "22:00", "07:00", Date.UTC(2026, 0, 5, 11), undefined],
  ["in the evening", "22:00", "07:00", Date.UTC(2026, 0, 5, 22, 30, 15), Date.UTC(2026, 0, 6, 6)],
  ["at its end", "22:00", "07:00", Date.UTC(2026, 0, 6, 6), undefined],
  ["within a day", "12:00", "13:30", Date.UTC(2026, 0, 5, 11), Date.UTC(2026, 0, 5, 12, 30)],
  // The clocks go from 02:00 to 03:00 on March 29, and from 03:00 back to 02:00 on October 25.
  ["in the night of the change to summer time", "22:00", "07:00", Date.UTC(2026, 2, 28, 22), Date.UTC(2026, 2, 29, 5)],
  ["in the night of the change to winter time", "22:00", "07:00", Date.UTC(2026, 9, 24, 21), Date.UTC(2026, 9, 25, 6)],
])("quiet hours %s", (_name, from, to, at, expected) => {
  const until = quietUntilMs({ from, to, time_zone: "Europe/Berlin", except_critical: true }, at);
  expect(until === undefined ? undefined : new Date(until).toISOString()).toBe(
    expected === undefined ? undefined : new Date(expected).toISOString(),
  );
});
