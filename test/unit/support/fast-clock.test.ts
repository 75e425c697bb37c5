import { expect, test } from "vitest";
import { FastClock } from "../../support/fast-clock.ts";

test("time passes while somebody waits for it, and stands still while the machine gives this process no time", async () => {
  const clock = new FastClock(50);
  const began = clock.monotonic();
  using _late = clock.timer(3_600_000, () => expect.fail("an hour is not over"));
  await clock.sleep(1_000);
  expect(clock.monotonic() - began).toBe(1_000);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 200);
  await clock.sleep(100);
  expect(clock.monotonic() - began).toBeLessThanOrEqual(1_150);
});
