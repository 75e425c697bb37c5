import { expect, test } from "vitest";
import { lateTarget } from "../../../../../src/control-plane/core/fleets/new-records.ts";
import { needsUpkeep, type UpkeepInput } from "../../../../../src/control-plane/core/fleets/upkeep.ts";
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
