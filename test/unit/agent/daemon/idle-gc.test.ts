import { expect, test } from "vitest";
import { createIdleGc } from "../../../../src/agent/daemon/idle-gc.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

function setUp() {
  const clock = new FakeClock();
  let collections = 0;
  const tidier = createIdleGc({ clock, collect: () => collections++ });
  return { clock, tidier, collections: () => collections };
}

test("garbage is collected once after the start, and once after work, when the agent is idle", async () => {
  const { clock, tidier, collections } = setUp();
  await clock.advance(60_000);
  expect(collections()).toBe(1);
  for (let step = 0; step < 10; step++) {
    tidier.onWork();
    await clock.advance(9_000);
  }
  expect(collections()).toBe(1);
  await clock.advance(3_600_000);
  expect(collections()).toBe(2);
});

test("no timer is left after disposal", async () => {
  const { clock, tidier, collections } = setUp();
  tidier[Symbol.dispose]();
  await clock.advance(60_000);
  expect([collections(), clock.pending]).toEqual([0, 0]);
});

test("nothing happens without --expose-gc", () => {
  const clock = new FakeClock();
  using tidier = createIdleGc({ clock, collect: undefined });
  tidier.onWork();
  expect(clock.pending).toBe(0);
});
