import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { afterFailedTry, MIN_USEFUL_FETCH_BYTES } from "../../../../src/agent/core/image/fetch-retry.ts";

const BOUNDS = { patienceMs: 600_000, baseMs: 1_000, maxMs: 60_000 };
const nothing = { gained: 0, silentMs: 0, retryAfterMs: undefined };

describe("after a fetch that did not complete the blob", () => {
  test("the next one starts at once when enough bytes arrived", () => {
    const failed = { ...nothing, gained: MIN_USEFUL_FETCH_BYTES };
    expect(afterFailedTry(failed, 7, BOUNDS, 0.9)).toEqual({ kind: "retry", afterMs: 0, failures: 0 });
  });

  test("after a few bytes the next one is delayed, and not given up", () => {
    const failed = { ...nothing, gained: 10, silentMs: 10_000_000 };
    expect(afterFailedTry(failed, 2, BOUNDS, 0.5)).toEqual({ kind: "retry", afterMs: 2_000, failures: 3 });
  });

  test("the registry's Retry-After is respected, within the patience", () => {
    const failed = { ...nothing, retryAfterMs: 120_000 };
    expect(afterFailedTry(failed, 0, BOUNDS, 0)).toMatchObject({ afterMs: 120_000 });
    expect(afterFailedTry({ ...failed, silentMs: 590_000 }, 0, BOUNDS, 0)).toMatchObject({ afterMs: 10_000 });
  });

  test("it gives up exactly when no byte arrived within the patience", () => {
    const tries = fc.record({
      gained: fc.nat(200_000),
      silentMs: fc.nat(1_000_000),
      retryAfterMs: fc.option(fc.nat(1_000_000), { nil: undefined }),
    });
    fc.assert(
      fc.property(tries, fc.nat(100), fc.double({ min: 0, max: 0.999, noNaN: true }), (failed, failures, random) => {
        const next = afterFailedTry(failed, failures, BOUNDS, random);
        expect(next.kind === "give_up").toBe(failed.gained === 0 && failed.silentMs >= BOUNDS.patienceMs);
        if (next.kind === "give_up") return;
        expect(next.afterMs).toBeLessThanOrEqual(Math.max(BOUNDS.maxMs, failed.retryAfterMs ?? 0));
        expect(next.afterMs).toBeLessThanOrEqual(BOUNDS.patienceMs);
      }),
    );
  });
});
