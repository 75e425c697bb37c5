import { expect, test } from "vitest";
import { DeviceRateLimiters } from "../../../src/control-plane/hub/device-rate-limiters.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("a device keeps its limiter while it is in debt, and idle limiters are evicted", async () => {
  const clock = new FakeClock();
  const paces = new DeviceRateLimiters(clock, 2, 1);
  const busy = paces.forDevice("busy");
  await busy.acquire(2);
  for (let count = 0; count < 5_000; count++) paces.forDevice(`idle-${count}`);
  expect(paces.forDevice("busy")).toBe(busy);
  await clock.advance(2_000);
  for (let count = 0; count < 5_000; count++) paces.forDevice(`other-${count}`);
  expect(paces.forDevice("busy")).not.toBe(busy);
});

test("a larger charge takes proportionally more time", async () => {
  const clock = new FakeClock();
  const pace = new DeviceRateLimiters(clock, 10, 1).forDevice("device");
  await pace.acquire(10);
  let isDone = false;
  const last = pace.acquire(5).then(() => (isDone = true));
  await clock.advance(4_999);
  expect(isDone).toBe(false);
  await clock.advance(1);
  await last;
});
