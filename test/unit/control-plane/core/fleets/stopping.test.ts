import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { countForStop, reasonToStop, type StopCounts } from "../../../../../src/control-plane/core/fleets/stopping.ts";
import { rolloutStrategySchema, type StopRule } from "../../../../../src/protocol/rollout-strategy.ts";
import { type TargetState, targetStateSchema } from "../../../../../src/protocol/rollout.ts";

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
