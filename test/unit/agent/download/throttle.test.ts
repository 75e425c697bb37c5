import { expect, test } from "vitest";
import { Throttle } from "../../../../src/agent/download/throttle.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

test("a receiver ahead of the rate pauses, and idle time gives no credit", async () => {
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
