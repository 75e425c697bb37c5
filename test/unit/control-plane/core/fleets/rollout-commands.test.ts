import { describe, expect, test } from "vitest";
import {
  advance,
  approve,
  cancel,
  type CommandOutcome,
  pause,
  resume,
  rollBack,
  startFields,
  supersede,
  waitingOf,
  waitsForPeople,
} from "../../../../../src/control-plane/core/fleets/rollout-commands.ts";
import { type RolloutState, rolloutStateSchema } from "../../../../../src/protocol/fleets/rollout.ts";
import { aCount, aRollout, NOW } from "../../../../support/fleets/records.ts";
import { settledCounts } from "../../../../../src/control-plane/core/fleets/progress.ts";

const STRATEGY = { waves: [{ limit: 1 }] };
const OTHER = { kind: "user", id: "usr_2" } as const;

const give: Readonly<Record<string, (state: RolloutState) => CommandOutcome>> = {
  pause: (state) => pause(aRollout({ state }), "…", OTHER),
  resume: (state) => resume(aRollout({ state }, STRATEGY), [], NOW),
  advance: (state) => advance(aRollout({ state }, STRATEGY)),
  approve: (state) => approve(aRollout({ state }), OTHER, NOW),
  cancel: (state) => cancel(aRollout({ state }), "…", NOW),
  rollback: (state) => rollBack(aRollout({ state }), "…", OTHER),
};

const ALLOWED: Readonly<
  Record<string, { readonly change: readonly RolloutState[]; readonly unchanged: readonly RolloutState[] }>
> = {
  pause: { change: ["running"], unchanged: ["paused"] },
  resume: { change: ["draft", "paused"], unchanged: ["running"] },
  advance: { change: ["running", "paused"], unchanged: [] },
  approve: { change: ["awaiting_approval"], unchanged: [] },
  cancel: { change: ["draft", "awaiting_approval", "running", "paused"], unchanged: ["cancelled"] },
  rollback: { change: ["running", "paused"], unchanged: ["rolling_back", "rolled_back"] },
};

describe.each(Object.keys(give))("%s", (command) => {
  test.each(rolloutStateSchema.options)("of a rollout that is %s", (state) => {
    const outcome = give[command]?.(state);
    const { change = [], unchanged = [] } = ALLOWED[command] ?? {};
    expect(outcome?.kind).toBe(change.includes(state) ? "change" : unchanged.includes(state) ? "unchanged" : "refused");
    if (outcome?.kind !== "refused") return;
    expect(outcome.error).toMatchObject({ code: "RolloutStateConflict", details: { rollout_id: "rol_1", state } });
  });
});

test("what cannot be rolled back names the revision before, which another rollout can bring", () => {
  expect(rollBack(aRollout({ state: "succeeded" }), "", OTHER)).toMatchObject({
    error: {
      message: "The rollout has succeeded and cannot be rolled back.",
      details: { previous_revision: 1 },
    },
  });
});

test("a start waits for approval, and not twice", () => {
  const strategy = { requires_approval: true };
  expect(startFields(aRollout({ state: "draft" }, strategy), NOW)).toEqual({ state: "awaiting_approval" });
  expect(startFields(aRollout({ approvedBy: OTHER }, strategy), NOW)).toMatchObject({
    state: "running",
    startedAtMs: NOW,
  });
});

test("who made a rollout cannot approve it", () => {
  const waiting = aRollout({ state: "awaiting_approval" }, { requires_approval: true });
  expect(approve(waiting, { kind: "user", id: "usr_1" }, NOW)).toMatchObject({ error: { code: "ApprovalBySameUser" } });
  // Nor with a key, whoever has made it in between.
  const own = { kind: "key", id: "key_1", origin: "usr_1" } as const;
  expect(approve(waiting, own, NOW)).toMatchObject({ error: { code: "ApprovalBySameUser" } });
  expect(approve({ ...waiting, createdBy: own }, { kind: "user", id: "usr_1" }, NOW).kind).toBe("refused");
  // A key of nobody, and one that it has made.
  const root = { ...waiting, createdBy: { kind: "key", id: "key_2" } } as const;
  expect(approve(root, { kind: "key", id: "key_3", origin: "key_2" }, NOW).kind).toBe("refused");
  expect(approve(root, own, NOW).kind).toBe("change");
  expect(approve(waiting, OTHER, NOW)).toMatchObject({
    fields: { state: "running", approvedBy: OTHER, waveEnteredAtMs: NOW },
  });
});

test("resuming accepts what has failed or is lost on its way forward", () => {
  const counts = [
    aCount("failed", 2),
    aCount("lost", 1),
    aCount("failed", 4, { direction: "back" }),
    aCount("refused", 8),
  ];
  const fields = { state: "running", reason: undefined, stoppedBy: undefined, acceptedFailures: 3 };
  expect(resume(aRollout({ state: "paused" }), counts, NOW)).toEqual({ kind: "change", fields });
});

test("the last wave cannot be advanced, and one advance counts once", () => {
  expect(advance(aRollout({ wave: 1 }, STRATEGY))).toMatchObject({
    error: { message: "The rollout is in its last wave and cannot be advanced." },
  });
  expect(advance(aRollout({}, STRATEGY))).toEqual({ kind: "change", fields: { advanceTo: 1 } });
  expect(advance(aRollout({ advanceTo: 1 }, STRATEGY))).toEqual({ kind: "unchanged" });
  // A request for a wave that has begun already, as one that was sent twice, opens no later one.
  expect(advance(aRollout({ wave: 1 }, STRATEGY), 1)).toEqual({ kind: "unchanged" });
  expect(advance(aRollout({}, STRATEGY), 2)).toMatchObject({ error: { code: "RolloutStateConflict" } });
});

test("a newer rollout supersedes what is not over and does not go back", () => {
  expect(supersede(aRollout({ state: "paused" }), 7, NOW)).toEqual({
    state: "superseded",
    reason: "Superseded by the rollout of revision 7.",
    finishedAtMs: NOW,
  });
  expect(supersede(aRollout({ state: "rolling_back" }), 7, NOW)).toBeUndefined();
  expect(supersede(aRollout({ state: "failed" }), 7, NOW)).toBeUndefined();
});

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
