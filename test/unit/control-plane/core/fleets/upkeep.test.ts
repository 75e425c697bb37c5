import { expect, test } from "vitest";
import { lateTarget } from "../../../../../src/control-plane/core/fleets/rollout.ts";
import {
  decideRepair,
  MAX_REPAIRS,
  needsUpkeep,
  NO_REPAIRS,
  type Repairs,
  repairsAfter,
  type UpkeepInput,
} from "../../../../../src/control-plane/core/fleets/upkeep.ts";
import { aRollout, NOW } from "../../../../support/fleets/records.ts";

const WAVES = { waves: [{ limit: 1 }] };
const joined: UpkeepInput = {
  fleet: { stableRevision: 3, pausedReason: undefined },
  rollout: undefined,
  target: undefined,
  served: undefined,
  memberRevision: undefined,
};
const over = aRollout({ state: "succeeded" });

test.each<[string, Partial<UpkeepInput>, "joined" | "returned" | undefined]>([
  ["has joined", {}, "joined"],
  [
    "has joined a fleet without a stable revision",
    { fleet: { stableRevision: undefined, pausedReason: undefined } },
    undefined,
  ],
  ["has joined a fleet that is paused", { fleet: { stableRevision: 3, pausedReason: "restored" } }, undefined],
  ["has joined after the last rollout", { rollout: over }, "joined"],
  ["has joined during a rollout", { rollout: aRollout({}, WAVES), target: { state: "pending" } }, "joined"],
  ["has joined in the last wave", { rollout: aRollout({ wave: 1 }, WAVES), target: { state: "pending" } }, undefined],
  ["has joined while a rollout goes back", { rollout: aRollout({ state: "rolling_back" }, WAVES) }, undefined],
  ["is in a rollout already", { rollout: aRollout({}, WAVES), target: { state: "deploying" } }, undefined],
  ["runs an earlier revision during a rollout", { rollout: aRollout({}, WAVES), memberRevision: 2 }, undefined],
  ["was deferred", { rollout: over, target: { state: "deferred" }, memberRevision: 2 }, "returned"],
  ["was lost", { rollout: over, target: { state: "lost" } }, "returned"],
  ["was lost and runs the revision", { rollout: over, target: { state: "lost" }, memberRevision: 3 }, undefined],
  ["has failed", { rollout: over, target: { state: "failed" } }, undefined],
  ["has refused", { rollout: over, target: { state: "refused" } }, undefined],
  ["is served already", { served: { state: "deferred", revision: 3 } }, undefined],
  ["was served for an earlier revision", { served: { state: "failed", revision: 2 } }, "joined"],
  ["left and joined again", { served: { state: "skipped", revision: 3 } }, "joined"],
])("a member that %s", (_what, input, expected) => {
  expect(needsUpkeep({ ...joined, ...input })).toBe(expected);
});

test("an asset that joins during a rollout is in its last wave", () => {
  expect(lateTarget(aRollout({}, WAVES), "asset-9", NOW)).toMatchObject({
    wave: 1,
    state: "pending",
    attempt: 0,
    sinceMs: NOW,
  });
});

const fleet = { onDrift: "repair", stableRevision: 2, pausedReason: undefined } as const;
const drifted = { state: "drifted" } as const;

test.each([
  ["a fleet that only reports", { ...fleet, onDrift: "report" as const }, drifted, false],
  ["a paused fleet", { ...fleet, pausedReason: "backup" }, drifted, false],
  ["a fleet without a stable revision", { ...fleet, stableRevision: undefined }, drifted, false],
  ["a member that was stopped by hand", fleet, { state: "stopped_by_hand" } as const, false],
  ["a member on hold", fleet, { state: "held" } as const, false],
  ["a member that is served already", fleet, drifted, true],
])("%s is not repaired", (_name, of, judgement, isUnderWay) => {
  expect(decideRepair(of, judgement, NO_REPAIRS, isUnderWay, NOW)).toEqual({ kind: "none" });
});

test("a member whose drift comes back at once is repaired after longer and longer pauses, and then left alone", () => {
  const pausesMs: number[] = [];
  let repairs: Repairs = NO_REPAIRS;
  let nowMs = NOW;
  for (;;) {
    const decision = decideRepair(fleet, drifted, repairs, false, nowMs);
    if (decision.kind === "given_up") break;
    if (decision.kind === "later") {
      pausesMs.push(decision.atMs - nowMs);
      nowMs = decision.atMs;
    }
    if (decision.kind === "repair") repairs = decision.repairs;
  }
  expect(repairs.count).toBe(MAX_REPAIRS);
  expect(pausesMs.map((ms) => ms / 60_000)).toEqual([5, 20, 80, 320, 1280]);
});

test("a member that was current for a day begins anew", () => {
  const repairs = { count: 4, lastAtMs: NOW - 1 };
  const day = 24 * 3_600_000;
  expect(repairsAfter(repairs, { state: "current", sinceMs: NOW - day }, NOW)).toEqual(NO_REPAIRS);
  expect(repairsAfter(repairs, { state: "current", sinceMs: NOW - day + 1 }, NOW)).toEqual(repairs);
  expect(repairsAfter(repairs, { state: "held", sinceMs: 0 }, NOW)).toEqual(repairs);
});
