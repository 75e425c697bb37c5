import { expect, test } from "vitest";
import { Throttle } from "../../../../src/agent/download/throttle.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

test("what is ahead of the rate waits, and idle time is no credit", async () => {
  const clock = new FakeClock();
  let rate: number | undefined = 1_000;
  const throttle = new Throttle(clock, () => rate);
  expect(throttle.take(500)).toBe(500);
  expect(throttle.take(500)).toBe(1_000);
  await clock.advance(10_000);
  expect(throttle.take(100)).toBe(100);
  rate = undefined;
  expect(throttle.take(1_000_000)).toBe(0);
});
