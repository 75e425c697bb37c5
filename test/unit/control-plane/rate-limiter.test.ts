import { expect, test } from "vitest";
import { RateLimiter } from "../../../src/lib/rate-limiter.ts";
import { FakeClock } from "../../support/fake-clock.ts";

test("admits a burst at once, then a number per second, and a burst again after a pause", async () => {
  const clock = new FakeClock();
  const pace = new RateLimiter(clock, 5, 2);
  let passed = 0;
  const run = (async () => {
    for (let count = 0; count < 15; count++) {
      await pace.acquire();
      passed++;
    }
  })();
  await clock.advance(0);
  expect(passed).toBe(5);
  await clock.advance(1_000);
  expect(passed).toBe(7);
  await clock.advance(4_000);
  expect(passed).toBe(15);
  await run;
  await clock.advance(60_000);
  for (let count = 0; count < 5; count++) await pace.acquire();
  let isLate = true;
  const late = pace.acquire().then(() => (isLate = false));
  await clock.advance(499);
  expect(isLate).toBe(true);
  await clock.advance(1);
  await late;
  expect(isLate).toBe(false);
});

test("an aborted wait is not charged", async () => {
  const clock = new FakeClock();
  const pace = new RateLimiter(clock, 5, 1);
  await pace.acquire(5);
  for (let count = 0; count < 100; count++) {
    const gone = new AbortController();
    const turn = pace.acquire(5, gone.signal);
    gone.abort();
    await turn;
  }
  expect(clock.pending).toBe(0);
  const next = pace.acquire(1);
  expect(clock.untilNext).toBe(1_000);
  await clock.advance(1_000);
  await next;
});
