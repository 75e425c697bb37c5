import { expect, test } from "vitest";
import { createIdleGc } from "../../../../src/agent/daemon/idle-gc.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

function setUp() {
  const clock = new FakeClock();
  const flavors: string[] = [];
  const idleGc = createIdleGc({ clock, collect: ({ flavor }) => flavors.push(flavor) });
  return { clock, idleGc, flavors, collections: () => flavors.length };
}

test("garbage is collected 10 s and 60 s after the start and after work, and not while there is work", async () => {
  const { clock, idleGc, flavors, collections } = setUp();
  await clock.advance(9_999);
  expect(collections()).toBe(0);
  await clock.advance(1);
  expect(collections()).toBe(1);
  await clock.advance(50_000);
  expect(collections()).toBe(2);
  for (let step = 0; step < 10; step++) {
    idleGc.onWork();
    await clock.advance(9_000);
  }
  expect(collections()).toBe(2);
  await clock.advance(3_600_000);
  expect(flavors).toEqual(["regular", "last-resort", "regular", "last-resort"]);
});

test("no timer is left after disposal", async () => {
  const { clock, idleGc, collections } = setUp();
  idleGc[Symbol.dispose]();
  await clock.advance(60_000);
  expect([collections(), clock.pending]).toEqual([0, 0]);
});

test("nothing happens without --expose-gc", () => {
  const clock = new FakeClock();
  using idleGc = createIdleGc({ clock, collect: undefined });
  idleGc.onWork();
  expect(clock.pending).toBe(0);
});
