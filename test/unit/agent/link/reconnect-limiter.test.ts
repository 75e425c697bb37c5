import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_COST_PAUSE_MS } from "../../../../src/agent/core/link/reconnect-budget.ts";
import { createReconnectLimiter } from "../../../../src/agent/link/reconnect-limiter.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const DAY_MS = 86_400_000;

/** Bytes spent in so many days by a device whose every session is cut after so long. */
async function spent(days: number, sessionMs: number, cost: number, bytesPerDay: number | undefined): Promise<number> {
  const clock = new FakeClock();
  const price = createReconnectLimiter(clock, () => bytesPerDay);
  let total = 0;
  while (clock.monotonic() < days * DAY_MS) {
    total += cost;
    await clock.advance(Math.max(1_000, sessionMs + price.pauseAfter(cost)));
  }
  return total;
}

describe("what connecting costs", () => {
  it("does not slow a device down that connects now and then, nor one on a network that costs nothing", () => {
    const clock = new FakeClock();
    const price = createReconnectLimiter(clock, () => 2_000_000);
    for (let attempt = 0; attempt < 100; attempt++) expect(price.pauseAfter(2_500)).toBe(0);
    const free = createReconnectLimiter(clock, () => undefined);
    for (let attempt = 0; attempt < 10_000; attempt++) expect(free.pauseAfter(9_000)).toBe(0);
  });

  it("stays near what a day may cost, where a line drops all the time", async () => {
    expect(await spent(3, 90_000, 2_500, 1_000_000)).toBeLessThan(3.3 * 1_000_000);
    expect(await spent(3, 90_000, 2_500, undefined)).toBeGreaterThan(7_000_000);
  });

  it("never keeps a device away for longer than a quarter of an hour", () => {
    const bytes = fc.nat({ max: 1e7 });
    fc.assert(
      fc.property(fc.array(bytes), bytes, (costs, allowance) => {
        const price = createReconnectLimiter(new FakeClock(), () => allowance);
        for (const cost of costs) {
          const pause = price.pauseAfter(cost);
          expect(pause).toBeGreaterThanOrEqual(0);
          expect(pause).toBeLessThanOrEqual(MAX_COST_PAUSE_MS);
        }
      }),
    );
  });
});
