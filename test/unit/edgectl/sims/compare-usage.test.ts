import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { compareUsage } from "../../../../src/edgectl/sims/compare-usage.ts";
import { someDataUsage, someDay } from "../../../support/edgectl/sim-samples.ts";

const FIRST = "2026-11-01";
const LAST = "2026-11-23";

describe("the operator's count beside the agent's", () => {
  test("is of all SIMs, and the rest is what neither the agent nor its headers are", () => {
    const days = [
      someDay(FIRST, { pulls: 100, control: 20, overhead: 5, interfaces: { wwan0: 300, eth0: 1 } }),
      someDay(LAST, { control: 10, overhead: 1, interfaces: { wwan0: 50 } }),
    ];
    const sims = [{ days: { [FIRST]: 200, [LAST]: 40 } }, { type: "prosim", days: { [FIRST]: 100 } }];
    expect(compareUsage(someDataUsage(days, sims))).toEqual({
      from: FIRST,
      to: LAST,
      agent_as_of: expect.any(Number) as number,
      operator_bytes: 340,
      agent_bytes: 130,
      agent_by_purpose: { pulls: 100, control: 30 },
      overhead_estimate_bytes: 6,
      other_bytes: 204,
      interfaces: { wwan0: 350, eth0: 1 },
    });
  });

  test("has no rest below 0 where the estimate of headers is too high: that is no excess", () => {
    const usage = someDataUsage([someDay(FIRST, { pulls: 100, overhead: 5 })], [{ days: { [FIRST]: 102 } }]);
    const comparison = compareUsage(usage);
    expect(comparison).toMatchObject({ other_bytes: 0 });
    expect(comparison).not.toHaveProperty("excess");
  });

  test("has an excess where the agent counted more, which may be usage that is still to come", () => {
    const usage = someDataUsage([someDay(LAST, { pulls: 100 })], [{ days: { [LAST]: 60 } }]);
    expect(compareUsage(usage)?.excess).toEqual({ bytes: 40, is_final: false });
  });

  test("has a final excess where the days that are final have it, also if later ones make up for it", () => {
    const days = [someDay(FIRST, { pulls: 100 }), someDay(LAST, { pulls: 10 })];
    const totals = { [FIRST]: 60, [LAST]: 500 };
    const until = (finalUntil: string) => compareUsage(someDataUsage(days, [{ finalUntil, days: totals }]))?.excess;
    expect(until("2026-11-02")).toEqual({ bytes: 40, is_final: true });
    // Not the whole day is final.
    expect(until("2026-11-01T23:59:59Z")).toBeUndefined();
    // Of two SIMs the one that is final later decides.
    const sims = [
      { finalUntil: "2026-11-20", days: totals },
      { type: "prosim", finalUntil: FIRST, days: {} },
    ];
    expect(compareUsage(someDataUsage(days, sims))?.excess).toBeUndefined();
  });

  test("is not there while the device has never sent its ledger", () => {
    expect(compareUsage(someDataUsage([], [{ days: { [FIRST]: 5 } }], null))).toBeUndefined();
  });

  test("adds up, and warns exactly where the agent is above the operator", () => {
    const bytes = fc.nat({ max: 1_000_000 });
    fc.assert(
      fc.property(bytes, bytes, bytes, bytes, (operator, pulls, control, overhead) => {
        const usage = someDataUsage([someDay(FIRST, { pulls, control, overhead })], [{ days: { [FIRST]: operator } }]);
        const comparison = compareUsage(usage);
        expect(comparison?.other_bytes).toBe(Math.max(0, operator - pulls - control - overhead));
        expect(comparison?.excess?.bytes ?? 0).toBe(Math.max(0, pulls + control - operator));
      }),
    );
  });
});
