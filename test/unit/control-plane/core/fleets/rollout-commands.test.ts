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
} from "../../../../../src/control-plane/core/fleets/rollout-commands.ts";
import { type RolloutState, rolloutStateSchema } from "../../../../../src/protocol/rollout.ts";
import { aCount, aRollout, NOW } from "../../../../support/fleets/records.ts";

const STRATEGY = { waves: [{ limit: 1 }] };
const OTHER = { kind: "user", id: "usr_2" } as const;

const give: Readonly<Record<string, (state: RolloutState) => CommandOutcome>> = {
  pause: (state) => pause(aRollout({ state }), "…"),
  resume: (state) => resume(aRollout({ state }, STRATEGY), [], NOW),
  advance: (state) => advance(aRollout({ state }, STRATEGY)),
  approve: (state) => approve(aRollout({ state }), OTHER, NOW),
  cancel: (state) => cancel(aRollout({ state }), "…", NOW),
  rollback: (state) => rollBack(aRollout({ state }), "…"),
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
  expect(rollBack(aRollout({ state: "succeeded" }), "")).toMatchObject({
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
  const fields = { state: "running", reason: undefined, acceptedFailures: 3 };
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
