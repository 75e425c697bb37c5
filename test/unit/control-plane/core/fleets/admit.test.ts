import { describe, expect, test } from "vitest";
import { admit } from "../../../../../src/control-plane/core/fleets/admit.ts";
import type { Target } from "../../../../../src/control-plane/core/fleets/target.ts";
import { aCount, aRollout, aTarget, NOW } from "../../../../support/fleets/records.ts";

const named = (assetUuid: string, fields: Partial<Target> = {}): Target => aTarget({ assetUuid, ...fields });
const names = (targets: readonly Target[]): string[] => targets.map(({ assetUuid }) => assetUuid);

describe("the targets that begin", () => {
  const many = Array.from({ length: 9 }, (_, index) => named(`asset-${index}`));

  test.each([
    [5, []],
    [2, [aCount("deploying", 3)]],
    [2, [aCount("deploying", 1), aCount("waiting", 1, { waitsFor: "budget" }), aCount("lost", 1)]],
    [0, [aCount("deploying", 4), aCount("lost", 3)]],
    [5, [aCount("soaking", 50), aCount("waiting", 50, { waitsFor: "connection" }), aCount("failed", 50)]],
  ])("are %i of five places, by what is under way", (expected, counts) => {
    expect(admit(aRollout({}, { max_parallel: 5 }), many, counts)).toHaveLength(expected);
  });

  test("do not wait for lost devices that somebody has accepted, nor when the rollout goes back", () => {
    const lost = [aCount("lost", 5)];
    expect(admit(aRollout({ acceptedFailures: 4 }, { max_parallel: 5 }), many, lost)).toHaveLength(4);
    const back = many.map((target) => ({ ...target, direction: "back" as const }));
    expect(admit(aRollout({ state: "rolling_back" }, { max_parallel: 5 }), back, lost)).toHaveLength(5);
    expect(admit(aRollout({ kind: "upkeep" }, { max_parallel: 5 }), many, lost)).toHaveLength(5);
  });

  test("are those of the waves that were entered, in a fair order", () => {
    const wanting = [
      named("d", { sinceMs: NOW - 5 }),
      named("c", { attempt: 1, sinceMs: NOW - 9 }),
      named("b", { sinceMs: NOW - 5 }),
      named("z", { wave: 1, sinceMs: 0 }),
      named("a", { sinceMs: NOW }),
      named("y", { wave: 2 }),
    ];
    expect(names(admit(aRollout({ wave: 1 }), wanting, []))).toEqual(["b", "d", "a", "c", "z"]);
  });

  test.each(["draft", "awaiting_approval", "paused", "cancelled", "superseded", "rolled_back"] as const)(
    "are none while the rollout is %s",
    (state) => expect(admit(aRollout({ state }), many, [])).toEqual([]),
  );

  test("go the way of the rollout", () => {
    const both = [named("a"), named("b", { direction: "back", wave: 9 })];
    expect(names(admit(aRollout({ state: "rolling_back" }), both, []))).toEqual(["b"]);
    expect(names(admit(aRollout(), both, []))).toEqual(["a"]);
  });
});
