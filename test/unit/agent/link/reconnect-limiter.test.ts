import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MAX_COST_PAUSE_MS } from "../../../../src/agent/core/link/reconnect-budget.ts";
import { createReconnectLimiter } from "../../../../src/agent/link/reconnect-limiter.ts";
import { FakeClock } from "../../../support/fake-clock.ts";

const DAY_MS = 86_400_000;

/** Bytes spent in so many days by a device whose every session is cut after so long. */
async function spent(days: number, sessionMs: number, cost: number, bytesPerDay: number | undefined): Promise<number> {
  const clock = new FakeClock();
  const limiter = createReconnectLimiter(clock, () => bytesPerDay);
  let total = 0;
  while (clock.monotonic() < days * DAY_MS) {
    total += cost;
    await clock.advance(Math.max(1_000, sessionMs + limiter.pauseAfter(cost)));
  }
  return total;
}

describe("the reconnect limiter", () => {
  it("does not delay a device that seldom connects, nor one on an unmetered network", () => {
    const clock = new FakeClock();
    const limiter = createReconnectLimiter(clock, () => 2_000_000);
    for (let attempt = 0; attempt < 100; attempt++) expect(limiter.pauseAfter(2_500)).toBe(0);
    const free = createReconnectLimiter(clock, () => undefined);
    for (let attempt = 0; attempt < 10_000; attempt++) expect(free.pauseAfter(9_000)).toBe(0);
  });

  it("stays near the daily budget on a link that drops all the time", async () => {
    expect(await spent(3, 90_000, 2_500, 1_000_000)).toBeLessThan(3.3 * 1_000_000);
    expect(await spent(3, 90_000, 2_500, undefined)).toBeGreaterThan(7_000_000);
  });

  it("never delays a device by more than 15 minutes", () => {
    const bytes = fc.nat({ max: 1e7 });
    fc.assert(
      fc.property(fc.array(bytes), bytes, (costs, allowance) => {
        const limiter = createReconnectLimiter(new FakeClock(), () => allowance);
        for (const cost of costs) {
          const pause = limiter.pauseAfter(cost);
          expect(pause).toBeGreaterThanOrEqual(0);
          expect(pause).toBeLessThanOrEqual(MAX_COST_PAUSE_MS);
        }
      }),
    );
  });
});
