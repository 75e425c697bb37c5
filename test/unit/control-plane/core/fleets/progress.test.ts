import { describe, expect, it, test } from "vitest";
import type { Rollout, TargetCount } from "../../../../../src/control-plane/core/fleets/rollout.ts";
import {
  countForStop,
  decideRollout,
  isStillActive,
  reasonToStop,
  type StopCounts,
} from "../../../../../src/control-plane/core/fleets/progress.ts";
import type { ErrorCode } from "../../../../../src/protocol/errors/errors.ts";
import { aCount, aRollout, NOW } from "../../../../support/fleets/records.ts";
import fc from "fast-check";
import { rolloutStrategySchema, type StopRule } from "../../../../../src/protocol/fleets/rollout-strategy.ts";
import { type TargetState, targetStateSchema } from "../../../../../src/protocol/fleets/rollout.ts";

const WAVES = { waves: [{ limit: 5 }, { limit: 20 }] };
const decided = (rollout: Rollout, counts: readonly TargetCount[], codes: readonly (ErrorCode | undefined)[] = []) =>
  decideRollout(rollout, counts, codes, NOW);
const rest = aCount("pending", 80, { wave: 2 });

describe("a wave", () => {
  test("is done when nothing of it is left to do", () => {
    const done = [aCount("succeeded", 2), aCount("refused", 1), aCount("deferred", 1), aCount("skipped", 1), rest];
    const fields = { wave: 1, waveEnteredAtMs: NOW, advanceTo: undefined };
    expect(decided(aRollout({}, WAVES), done)).toEqual({ kind: "enter_wave", fields });
  });

  test.each([
    aCount("pending", 1),
    aCount("deploying", 1),
    aCount("soaking", 1),
    aCount("waiting", 1, { waitsFor: "connection" }),
    aCount("waiting", 1, { waitsFor: "window" }),
    aCount("waiting", 1, { waitsFor: "budget" }),
    aCount("waiting", 1, { waitsFor: "deployment" }),
  ])("is not done while a target is $state $waitsFor", (open) => {
    expect(decided(aRollout({}, WAVES), [aCount("succeeded", 4), open, rest])).toEqual({ kind: "nothing" });
    // Also one of a wave before, such as a deferred one that has returned.
    const later = [aCount("succeeded", 4, { wave: 1 }), open, rest];
    expect(decided(aRollout({ wave: 1 }, WAVES), later)).toEqual({ kind: "nothing" });
  });

  test.each(["hold", "conflict", "variable", "acceptance", "clock"] as const)(
    "is not held by a target that waits for %s, the end is",
    (waitsFor) => {
      const counts = [aCount("succeeded", 4), aCount("waiting", 1, { waitsFor })];
      expect(decided(aRollout({}, WAVES), counts).kind).toBe("enter_wave");
      expect(decided(aRollout({ wave: 2 }, WAVES), counts)).toEqual({ kind: "nothing" });
    },
  );

  test("is followed by the next one only when somebody lets it, where the strategy says so", () => {
    const manual = { waves: [{ limit: 5, advance: "manual" as const }] };
    const done = [aCount("succeeded", 5), aCount("pending", 80, { wave: 1 })];
    expect(decided(aRollout({}, manual), done)).toEqual({ kind: "nothing" });
    expect(decided(aRollout({ advanceTo: 1 }, manual), done).kind).toBe("enter_wave");
    // What was allowed for another wave does not count.
    expect(decided(aRollout({ advanceTo: 2 }, manual), done)).toEqual({ kind: "nothing" });
  });

  test("leaves absent devices behind when somebody lets the next one begin, and nothing that is under way", () => {
    const absent = [aCount("succeeded", 4), aCount("waiting", 1, { waitsFor: "connection" }), rest];
    expect(decided(aRollout({ advanceTo: 1 }, WAVES), absent).kind).toBe("enter_wave");
    expect(decided(aRollout({ advanceTo: 1 }, WAVES), [...absent, aCount("deploying", 1)])).toEqual({
      kind: "nothing",
    });
  });

  test("of which nothing has succeeded pauses the rollout, and an empty one does not", () => {
    const silent = decided(aRollout({}, WAVES), [aCount("deferred", 5), rest]);
    expect(silent).toMatchObject({ kind: "stop", fields: { state: "paused" } });
    expect(silent).toHaveProperty(
      "fields.reason",
      "Nothing has succeeded in wave 1 (5 deferred). Advance and resume it to go on.",
    );
    // What has succeeded before says nothing about this one.
    const second = [aCount("succeeded", 5), aCount("deferred", 15, { wave: 1 }), rest];
    expect(decided(aRollout({ wave: 1 }, WAVES), second).kind).toBe("stop");
    expect(decided(aRollout({}, WAVES), [rest]).kind).toBe("enter_wave");
  });
});

describe("a rollout that runs", () => {
  const rule = { stop_when: { failed: 2, min_attempted: 1 } };
  const failing = [aCount("failed", 2), aCount("succeeded", 3), aCount("pending", 5)];

  test("stops by its rule, and says what, how many, and the codes", () => {
    const { kind, ...stop } = decided(aRollout({}, rule), failing, [
      "ImagePullBackOff",
      "CrashLoopBackOff",
      "ImagePullBackOff",
    ]);
    expect(kind).toBe("stop");
    expect(stop).toHaveProperty("fields.state", "paused");
    const reason = "2 of 5 attempted assets failed; the rollout stops at 2. ImagePullBackOff: 2, CrashLoopBackOff: 1.";
    expect(stop).toHaveProperty("fields.reason", reason);
    // There is nothing to go back to.
    const same = aRollout({ revision: 1, previousRevision: 1 }, { ...rule, on_stop: "rollback" });
    expect(decided(same, failing)).toMatchObject({ kind: "stop", fields: { state: "paused" } });
    expect(decided(aRollout({}, { ...rule, on_stop: "rollback" }), failing)).toMatchObject({
      fields: { state: "rolling_back" },
    });
  });

  test("goes on after somebody has accepted its failures, until as many have failed again", () => {
    expect(decided(aRollout({ acceptedFailures: 2 }, rule), failing)).toEqual({ kind: "nothing" });
    const more = [aCount("failed", 4), aCount("pending", 5)];
    expect(decided(aRollout({ acceptedFailures: 2 }, rule), more).kind).toBe("stop");
  });

  test("stops where lost devices take all places, instead of waiting for ever", () => {
    const strategy = { max_parallel: 2, stop_when: { failed: "100%" as const, min_attempted: 10 } };
    const blocked = [aCount("lost", 2), aCount("pending", 5)];
    expect(decided(aRollout({}, strategy), blocked)).toMatchObject({ kind: "stop", fields: { state: "paused" } });
    expect(decided(aRollout({ acceptedFailures: 2 }, strategy), blocked)).toEqual({ kind: "nothing" });
    expect(decided(aRollout({}, strategy), [...blocked, aCount("soaking", 1)]).kind).toBe("stop");
  });

  test.each([
    ["succeeded", "anything has succeeded", [aCount("succeeded", 1), aCount("deferred", 9), aCount("failed", 1)]],
    ["succeeded", "it has no members", []],
    ["succeeded", "all members have left", [aCount("skipped", 3)]],
    ["failed", "nothing has succeeded", [aCount("refused", 3), aCount("deferred", 1)]],
    ["failed", "any has refused it", [aCount("succeeded", 10), aCount("refused", 2)]],
  ] as const)("ends as %s if %s", (state, _why, counts) => {
    const lenient = aRollout({}, { stop_when: { failed: 100 } });
    expect(decided(lenient, counts)).toMatchObject({ kind: "finish", fields: { state, finishedAtMs: NOW } });
  });

  test("ends as failed if its rule holds and nothing is left to pause, but still goes back", () => {
    const ended = [aCount("succeeded", 3), aCount("failed", 2)];
    expect(decided(aRollout({}, rule), ended)).toMatchObject({ kind: "finish", fields: { state: "failed" } });
    expect(decided(aRollout({}, { ...rule, on_stop: "rollback" }), ended)).toMatchObject({
      fields: { state: "rolling_back" },
    });
  });

  test("says what it has not reached, and lets refusals pass where the strategy does", () => {
    const counts = [aCount("succeeded", 10), aCount("refused", 2), aCount("skipped", 1)];
    const reason = "10 of 12 assets run revision 2; 2 refused.";
    expect(decided(aRollout(), counts)).toMatchObject({ fields: { state: "failed", reason } });
    expect(decided(aRollout({}, { refused: "allow" }), counts)).toMatchObject({
      fields: { state: "succeeded", reason },
    });
    expect(decided(aRollout(), [aCount("succeeded", 12)])).toMatchObject({ fields: { reason: undefined } });
  });

  test.each([
    ["98%", 97, "nothing"],
    ["98%", 98, "finish"],
    [90, 90, "finish"],
    // As all that there are.
    [500, 99, "nothing"],
  ] as const)("done at %s is, with %i of 100 that have succeeded: %s", (doneAt, succeeded, kind) => {
    const held = aCount("waiting", 100 - succeeded, { waitsFor: "hold" });
    const decision = decided(aRollout({}, { done_at: doneAt }), [aCount("succeeded", succeeded), held]);
    expect(decision.kind).toBe(kind);
    if (kind === "finish") expect(decision).toMatchObject({ fields: { state: "succeeded" } });
  });

  test("is not done in an earlier wave, nor while a target has not had its turn, nor against its stopping rule", () => {
    const strategy = { done_at: "50%" };
    const enough = [aCount("succeeded", 80, { wave: 2 }), aCount("refused", 5, { wave: 2 })];
    const last = aRollout({ wave: 2 }, { ...WAVES, ...strategy });
    expect(decided(last, enough)).toMatchObject({ kind: "finish", fields: { state: "succeeded" } });
    for (const state of ["pending", "deploying", "soaking"] as const)
      expect(decided(last, [...enough, aCount(state, 1, { wave: 2 })])).toEqual({ kind: "nothing" });
    expect(decided(aRollout({ wave: 0 }, { ...WAVES, ...strategy }), [aCount("succeeded", 80), rest]).kind).toBe(
      "enter_wave",
    );
    const failing = aRollout({ wave: 2 }, { ...WAVES, ...strategy, stop_when: { failed: 3 } });
    expect(decided(failing, [...enough, aCount("failed", 3, { wave: 2 })])).toMatchObject({
      fields: { state: "failed" },
    });
  });

  test("leaves what waits to the upkeep once it is done, after the share of its stopping rule was judged", () => {
    const waits = [
      aCount("waiting", 2, { waitsFor: "hold", wasAttempted: false }),
      aCount("waiting", 1, { waitsFor: "budget" }),
    ];
    const careful = aRollout({}, { done_at: "50%", stop_when: { failed: "20%", min_attempted: 50 } });
    const reason = "8 of 12 assets run revision 2; 1 failed, 2 deferred, 1 waiting.";
    expect(decided(careful, [aCount("succeeded", 8), aCount("failed", 1), ...waits])).toMatchObject({
      kind: "finish",
      fields: { state: "succeeded", reason },
    });
    expect(decided(careful, [aCount("succeeded", 8), aCount("failed", 4), ...waits])).toMatchObject({
      kind: "stop",
      fields: { state: "paused" },
    });
  });

  test("does not end with an open wave", () => {
    expect(decided(aRollout({ wave: 0 }, WAVES), [])).toMatchObject({ kind: "enter_wave", fields: { wave: 1 } });
  });
});

test.each(["draft", "awaiting_approval", "paused", "cancelled", "superseded", "succeeded"] as const)(
  "nothing is decided for a rollout that is %s",
  (state) => expect(decided(aRollout({ state }), [aCount("failed", 9)])).toEqual({ kind: "nothing" }),
);

test("upkeep has no waves and no end", () => {
  expect(decided(aRollout({ kind: "upkeep" }), [aCount("failed", 9)])).toEqual({ kind: "nothing" });
});

describe("a rollout that goes back", () => {
  const going = aRollout({ state: "rolling_back", reason: "It was bad." });
  const back = { direction: "back" } as const;

  test("ends when all that were attempted went back, and says how many did not", () => {
    const done = [aCount("rolled_back", 3, back), aCount("skipped", 4), aCount("refused", 1)];
    expect(decided(going, done)).toEqual({
      kind: "finish",
      fields: { state: "rolled_back", reason: "It was bad.", finishedAtMs: NOW },
    });
    const partly = [...done, aCount("lost", 1), aCount("failed", 1, back), aCount("deferred", 1, back)];
    expect(decided(going, partly)).toHaveProperty("fields.reason", "It was bad. 3 of the assets did not go back.");
  });

  test.each([
    aCount("succeeded", 1),
    aCount("failed", 1),
    aCount("deferred", 1),
    aCount("soaking", 1),
    aCount("pending", 1, back),
    aCount("waiting", 1, { ...back, waitsFor: "hold" }),
    aCount("deploying", 1, back),
  ])("does not end with a target that is $state, going $direction", (open) => {
    expect(decided(going, [aCount("rolled_back", 3, back), open])).toEqual({ kind: "nothing" });
  });
});

test("a rollout that is over is looked after while its deployments are under way", () => {
  expect(isStillActive({ state: "cancelled" }, [aCount("soaking", 1)])).toBe(true);
  expect(isStillActive({ state: "cancelled" }, [aCount("deferred", 1), aCount("lost", 1)])).toBe(false);
  expect(isStillActive({ state: "paused" }, [])).toBe(true);
});

const byDefault = rolloutStrategySchema.parse({}).stop_when;
const counts = (attempted: number, ended: number, failed: number, more: Partial<StopCounts> = {}): StopCounts => ({
  attempted,
  ended,
  failed,
  lost: 0,
  isWaveOver: false,
  ...more,
});

const group = (state: TargetState, count: number, more: object = {}) => ({
  wave: 0,
  state,
  direction: "forward" as const,
  wasAttempted: true,
  count,
  ...more,
});

describe("counts for the stopping rule", () => {
  it("take those attempted, and leave out what says nothing about the revision", () => {
    const groups = [
      group("pending", 100, { wasAttempted: false, wave: 1 }),
      group("waiting", 1),
      group("waiting", 50, { wasAttempted: false, wave: 1 }),
      group("deploying", 2),
      group("soaking", 4),
      group("succeeded", 8),
      group("failed", 16),
      group("lost", 32),
      group("refused", 1000),
      group("deferred", 1000),
      group("failed", 1000, { wasAttempted: false }),
      group("failed", 1000, { direction: "back" }),
    ];
    expect(countForStop(groups, 0)).toEqual({ attempted: 63, ended: 56, failed: 48, lost: 32, isWaveOver: false });
  });

  it.each(targetStateSchema.options.map((state) => [state] as const))("say whether a wave with %s is over", (state) => {
    const isOver = !["pending", "waiting", "deploying", "soaking"].includes(state);
    expect(countForStop([group("succeeded", 3), group(state, 1)], 0).isWaveOver).toBe(isOver);
    expect(countForStop([group("succeeded", 3), group(state, 1, { wave: 1 })], 0).isWaveOver).toBe(true);
    expect(countForStop([group("succeeded", 3), group(state, 1)], 1).isWaveOver).toBe(isOver);
    expect(countForStop([group(state, 0)], 0).isWaveOver).toBe(true);
  });
});

describe("the stopping rule", () => {
  it.each([
    // Not before five have ended, with the default of 10 %.
    [byDefault, counts(5, 4, 4), undefined],
    [
      byDefault,
      counts(5, 5, 1),
      "1 of 5 attempted assets failed; the rollout stops at 10% of those attempted, here 1.",
    ],
    [byDefault, counts(50, 5, 4), undefined],
    [
      byDefault,
      counts(50, 5, 5),
      "5 of 50 attempted assets failed; the rollout stops at 10% of those attempted, here 5.",
    ],
    [byDefault, counts(51, 20, 5), undefined],
    [
      byDefault,
      counts(51, 20, 6, { lost: 2 }),
      "6 of 51 attempted assets failed, 2 of them lost; the rollout stops at 10% of those attempted, here 6.",
    ],
    // A first wave of two is not passed with a failure.
    [byDefault, counts(2, 1, 1), undefined],
    [
      byDefault,
      counts(2, 2, 1, { isWaveOver: true }),
      "1 of 2 attempted assets failed; the rollout stops at 10% of those attempted, here 1.",
    ],
    [byDefault, counts(0, 0, 0, { isWaveOver: true }), undefined],
    [byDefault, counts(1000, 1000, 0, { isWaveOver: true }), undefined],
    // A number holds from the first asset on.
    [{ failed: 1, min_attempted: 5 }, counts(1, 1, 1), "1 of 1 attempted assets failed; the rollout stops at 1."],
    [{ failed: 3, min_attempted: 5 }, counts(900, 800, 2, { isWaveOver: true }), undefined],
    [{ failed: "100%", min_attempted: 1 }, counts(3, 3, 2, { isWaveOver: true }), undefined],
  ] as [StopRule, StopCounts, string | undefined][])("%j with %j: %s", (rule, given, reason) => {
    expect(reasonToStop(rule, given)).toBe(reason);
  });

  const rule = fc.record({
    failed: fc.oneof(
      fc.integer({ min: 1, max: 50 }),
      fc.integer({ min: 1, max: 100 }).map((percent) => `${percent}%`),
    ),
    min_attempted: fc.integer({ min: 1, max: 50 }),
  });
  const numbers = fc.record({
    succeeded: fc.nat(50),
    failed: fc.nat(50),
    underWay: fc.nat(50),
    isWaveOver: fc.boolean(),
  });
  const stops = (
    given: StopRule,
    { succeeded, failed, underWay, isWaveOver }: typeof numbers extends fc.Arbitrary<infer T> ? T : never,
  ) =>
    reasonToStop(given, counts(succeeded + failed + underWay, succeeded + failed, failed, { isWaveOver })) !==
    undefined;

  it("stays true with more failures: of those under way, and of others", () => {
    fc.assert(
      fc.property(rule, numbers, (given, some) => {
        fc.pre(stops(given, some));
        expect(stops(given, { ...some, failed: some.failed + 1 })).toBe(true);
        if (some.underWay > 0) {
          expect(stops(given, { ...some, failed: some.failed + 1, underWay: some.underWay - 1 })).toBe(true);
          expect(stops(given, { ...some, succeeded: some.succeeded + 1, underWay: some.underWay - 1 })).toBe(true);
        }
        if (some.succeeded > 0)
          expect(stops(given, { ...some, failed: some.failed + 1, succeeded: some.succeeded - 1 })).toBe(true);
      }),
    );
  });

  it("never holds without a failure, and always where all that ended a wave have failed", () => {
    fc.assert(
      fc.property(rule, numbers, (given, some) => {
        expect(stops(given, { ...some, failed: 0 })).toBe(false);
        const share = { ...given, failed: typeof given.failed === "number" ? "50%" : given.failed };
        const allFailed = { succeeded: 0, failed: some.failed + 1, underWay: 0, isWaveOver: true };
        expect(stops(share, allFailed)).toBe(true);
      }),
    );
  });

  it("compares a share exactly", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100 }), numbers, (percent, some) => {
        const attempted = some.succeeded + some.failed + some.underWay;
        const given = { failed: `${percent}%`, min_attempted: 1 };
        const expected = some.failed > 0 && some.failed * 100 >= percent * attempted;
        expect(stops(given, some)).toBe(expected);
      }),
    );
  });
});
