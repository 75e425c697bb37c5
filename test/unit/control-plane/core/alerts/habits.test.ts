import { expect, test } from "vitest";
import {
  absentSinceMs,
  type DeviceHabits,
  learn,
  NO_HABITS,
  usualPauseMs,
} from "../../../../../src/control-plane/core/alerts/habits.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const START = 1_800_000_000_000;

const connected = (epoch: number) => ({ epoch, awaySinceMs: undefined });

test("a device with a connection a minute flaps without a break, and is calm within hours", () => {
  let habits: DeviceHabits = learn(NO_HABITS, connected(1), START, true);
  const flaps: boolean[] = [];
  for (let minute = 1; minute <= 24 * 60; minute++) {
    const now = START + minute * MINUTE;
    habits = learn(habits, connected(1 + minute), now, true);
    flaps.push(habits.flapsUntilMs > now);
  }
  const first = flaps.indexOf(true);
  expect(first).toBeLessThan(15);
  expect(flaps.slice(first)).not.toContain(false);
  expect(habits.flapsUntilMs - (START + DAY)).toBeLessThanOrEqual(2 * HOUR);
});

test("a few connections an hour are no flapping, nor are those that the service was not there for", () => {
  let habits: DeviceHabits = learn(NO_HABITS, connected(1), START, true);
  for (let hour = 1; hour <= 48; hour++) habits = learn(habits, connected(1 + hour * 5), START + hour * HOUR, true);
  expect(habits.flapsUntilMs).toBe(0);
  expect(learn(habits, connected(10_000), START + 49 * HOUR, false).flapsUntilMs).toBe(0);
  // A database that was restored has lower numbers.
  expect(learn(habits, connected(1), START + 49 * HOUR, true).level).toBeGreaterThanOrEqual(0);
});

test("a pause that a device makes for the third time is usual, until it has not made it for two weeks", () => {
  let habits: DeviceHabits = NO_HABITS;
  let epoch = 1;
  for (let day = 0; day < 3; day++) {
    expect(usualPauseMs(habits.pauses, START + day * DAY)).toBeUndefined();
    const gone = START + day * DAY;
    habits = learn(habits, { epoch, awaySinceMs: gone }, gone + MINUTE, true);
    epoch++;
    habits = learn(habits, connected(epoch), gone + 8 * HOUR, true);
  }
  expect(usualPauseMs(habits.pauses, START + 3 * DAY)).toBe(8 * HOUR);
  expect(usualPauseMs(habits.pauses, START + 30 * DAY)).toBeUndefined();
});

test("the pause of the service is no pause of its devices, nor is a short one", () => {
  const away = learn(NO_HABITS, { epoch: 1, awaySinceMs: START }, START + MINUTE, true);
  expect(learn(away, connected(2), START + 8 * HOUR, false).pauses).toEqual([]);
  expect(learn(away, connected(2), START + 5 * MINUTE, true).pauses).toEqual([]);
});

test("a device that was there until the service went is counted from the service's return", () => {
  const outage = { fromMs: START, untilMs: START + HOUR };
  expect(absentSinceMs(START - 1, outage)).toBe(START - 1);
  expect(absentSinceMs(START, outage)).toBe(START + HOUR);
  expect(absentSinceMs(START + HOUR + 1, outage)).toBe(START + HOUR + 1);
});
