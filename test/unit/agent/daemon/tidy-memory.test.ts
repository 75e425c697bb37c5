import { expect, test } from "vitest";
import { tidyMemory } from "../../../../src/agent/daemon/tidy-memory.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

function setUp() {
  const clock = new FakeClock();
  const listeners = new Set<() => void>();
  let collections = 0;
  const tidy = tidyMemory({
    clock,
    onWork: (listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => listeners.delete(listener) };
    },
    collect: () => collections++,
  });
  const work = (): void => listeners.forEach((listener) => listener());
  return { clock, tidy, work, listeners, collections: () => collections };
}

test("garbage is collected once after the start, and once after work, when it has been quiet", async () => {
  const { clock, work, collections } = setUp();
  await clock.advance(60_000);
  expect(collections()).toBe(1);
  for (let step = 0; step < 10; step++) {
    work();
    await clock.advance(9_000);
  }
  expect(collections()).toBe(1);
  await clock.advance(3_600_000);
  expect(collections()).toBe(2);
});

test("nothing is left to happen once it is disposed of", async () => {
  const { clock, tidy, listeners, collections } = setUp();
  tidy[Symbol.dispose]();
  await clock.advance(60_000);
  expect([collections(), clock.pending, listeners.size]).toEqual([0, 0, 0]);
});

test("a Node.js that does not offer it is left alone", () => {
  const clock = new FakeClock();
  using _tidy = tidyMemory({ clock, onWork: () => expect.unreachable(), collect: undefined });
  expect(clock.pending).toBe(0);
});
