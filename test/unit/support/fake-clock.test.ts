import { expect, test } from "vitest";
import { deadline } from "../../../src/lib/clock.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("timers fire in the order they are due, each at its own time", async () => {
  const clock = new FakeClock(1000);
  const fired: [string, number, number][] = [];
  for (const [name, ms] of [
    ["late", 30],
    ["early", 10],
    ["also early", 10],
  ] as const) {
    clock.timer(ms, () => fired.push([name, clock.monotonic(), clock.now()]));
  }
  await clock.advance(29);
  expect(fired).toEqual([
    ["early", 10, 1010],
    ["also early", 10, 1010],
  ]);
  await clock.advance(1);
  expect(fired.at(-1)).toEqual(["late", 30, 1030]);
});

test("a chain of sleeps within the time passes as a whole", async () => {
  const clock = new FakeClock();
  let rounds = 0;
  const loop = async (): Promise<void> => {
    for (; rounds < 5; rounds++) await clock.sleep(100);
  };
  const done = loop();
  await clock.advance(499);
  expect(rounds).toBe(4);
  await clock.advance(1);
  expect(rounds).toBe(5);
  await done;
});

test("a jump moves the time of day and nothing else", async () => {
  const clock = new FakeClock(5000);
  let fired = false;
  clock.timer(10, () => (fired = true));
  clock.jump(-4000);
  await clock.advance(9);
  expect([clock.now(), clock.monotonic(), fired]).toEqual([1009, 9, false]);
});

test("disposed timers and aborted sleepers are gone", async () => {
  const clock = new FakeClock();
  const abort = new AbortController();
  clock.timer(1, () => expect.unreachable())[Symbol.dispose]();
  const sleeping = expect(clock.sleep(10, abort.signal)).rejects.toThrow("enough");
  abort.abort(new Error("enough"));
  await sleeping;
  expect(clock.pending).toBe(0);
  await clock.advance(100);
});

test("deadlines of the library run on it", async () => {
  const clock = new FakeClock();
  using limit = deadline(clock, 50);
  expect(clock.untilNext).toBe(50);
  await clock.advance(50);
  expect(limit.signal.aborted).toBe(true);
});
