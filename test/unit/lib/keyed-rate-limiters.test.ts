import { expect, test } from "vitest";
import { KeyedRateLimiters } from "../../../src/lib/keyed-rate-limiters.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("a party keeps its limiter while it is in debt, and idle limiters are evicted", async () => {
  const clock = new FakeClock();
  const paces = new KeyedRateLimiters(clock, 2, 1);
  const busy = paces.of("busy");
  await busy.acquire(2);
  for (let count = 0; count < 5_000; count++) paces.of(`idle-${count}`);
  expect(paces.of("busy")).toBe(busy);
  await clock.advance(2_000);
  for (let count = 0; count < 5_000; count++) paces.of(`other-${count}`);
  expect(paces.of("busy")).not.toBe(busy);
});

test("a larger charge takes proportionally more time", async () => {
  const clock = new FakeClock();
  const pace = new KeyedRateLimiters(clock, 10, 1).of("device");
  await pace.acquire(10);
  let isDone = false;
  const last = pace.acquire(5).then(() => (isDone = true));
  await clock.advance(4_999);
  expect(isDone).toBe(false);
  await clock.advance(1);
  await last;
});

test("those who would wait too long are refused at once and charged nothing, and no other party waits for them", async () => {
  const clock = new FakeClock();
  const paces = new KeyedRateLimiters(clock, 2, 1);
  const entered: string[] = [];
  const enter = (key: string): void =>
    void paces.enter(key, 1_000).then((isIn) => entered.push(`${key} ${isIn ? "in" : "refused"} ${clock.monotonic()}`));
  for (let count = 0; count < 10; count++) enter("flood");
  enter("other");
  await clock.advance(0);
  expect(entered).toEqual([
    "flood in 0",
    "flood in 0",
    ...Array.from({ length: 6 }, () => "flood refused 0"),
    "other in 0",
  ]);
  await clock.advance(2_000);
  expect(entered.slice(-2)).toEqual(["flood in 1000", "flood in 2000"]);
  enter("flood");
  await clock.advance(1_000);
  expect(entered.at(-1)).toBe("flood in 3000");
});
