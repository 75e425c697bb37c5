import { expect, test } from "vitest";
import { Paces } from "../../../src/control-plane/reports/paces.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("a device has one pace for as long as it owes anything, and idle ones are forgotten", async () => {
  const clock = new FakeClock();
  const paces = new Paces(clock, 2, 1);
  const busy = paces.of("busy");
  await busy.turn(2);
  for (let count = 0; count < 5_000; count++) paces.of(`idle-${count}`);
  expect(paces.of("busy")).toBe(busy);
  await clock.advance(2_000);
  for (let count = 0; count < 5_000; count++) paces.of(`other-${count}`);
  expect(paces.of("busy")).not.toBe(busy);
});

test("what counts for more takes as much more time", async () => {
  const clock = new FakeClock();
  const pace = new Paces(clock, 10, 1).of("device");
  await pace.turn(10);
  let isDone = false;
  const last = pace.turn(5).then(() => (isDone = true));
  await clock.advance(4_999);
  expect(isDone).toBe(false);
  await clock.advance(1);
  await last;
});
