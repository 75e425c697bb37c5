import { describe, expect, test } from "vitest";
import { settledCounts } from "../../../../../src/control-plane/core/fleets/counts.ts";
import { waitingOf, waitsForPeople } from "../../../../../src/control-plane/core/fleets/waiting.ts";
import { aCount, aRollout } from "../../../../support/fleets/records.ts";

const held = aCount("waiting", 2, { waitsFor: "hold" });
const offline = aCount("waiting", 1, { waitsFor: "connection" });
const manual = { waves: [{ limit: 5, advance: "manual" as const }] };
const next = aCount("pending", 80, { wave: 1 });

describe("a rollout that waits", () => {
  test.each([
    ["start", aRollout({ state: "draft" }), [next]],
    ["approval", aRollout({ state: "awaiting_approval" }), [next]],
    ["resume", aRollout({ state: "paused" }), [next]],
    ["advance", aRollout({}, manual), [aCount("succeeded", 3), held, next]],
  ] as const)("for people: %s", (reason, rollout, counts) => {
    expect(waitingOf(rollout, counts)[0]).toMatchObject({ for: reason });
    expect(waitsForPeople(rollout, counts)).toBe(true);
  });

  test("says for what its targets wait, and how many", () => {
    const counts = [
      aCount("succeeded", 3),
      held,
      aCount("waiting", 1, { waitsFor: "hold", wasAttempted: false }),
      offline,
    ];
    expect(waitingOf(aRollout(), counts)).toEqual([
      { for: "hold", count: 3 },
      { for: "connection", count: 1 },
    ]);
    // The device may come back by itself.
    expect(waitsForPeople(aRollout(), counts)).toBe(false);
    expect(waitsForPeople(aRollout(), [aCount("succeeded", 3), held])).toBe(true);
    expect(waitsForPeople(aRollout(), [held, aCount("deploying", 1)])).toBe(false);
  });

  test.each([
    ["a wave under way", aRollout({}, manual), [aCount("soaking", 1), next]],
    ["a device that is away", aRollout({}, manual), [aCount("succeeded", 1), offline, next]],
    ["somebody has let the next wave begin", aRollout({ advanceTo: 1 }, manual), [aCount("succeeded", 1), next]],
    ["it is over", aRollout({ state: "cancelled" }), [held]],
  ] as const)("does not wait for people with %s", (_what, rollout, counts) => {
    expect(waitsForPeople(rollout, counts)).toBe(false);
    expect(waitingOf(rollout, counts).map((each) => each.for)).not.toContain("advance");
  });
});

test("what had not begun when a rollout ended is shown as it will be", () => {
  const counts = [
    aCount("waiting", 2, { waitsFor: "hold", wasAttempted: false }),
    next,
    aCount("deploying", 1),
    aCount("waiting", 1, { waitsFor: "budget" }),
  ];
  expect(settledCounts({ state: "cancelled" }, counts).map(({ state }) => state)).toEqual([
    "skipped",
    "skipped",
    "deploying",
    "waiting",
  ]);
  expect(settledCounts({ state: "succeeded" }, counts)[0]?.state).toBe("deferred");
  expect(settledCounts({ state: "running" }, counts)).toEqual(counts);
});
