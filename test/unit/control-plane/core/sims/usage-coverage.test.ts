import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isAnswered,
  neededDays,
  planReading,
  type UsageCoverage,
} from "../../../../../src/control-plane/core/sims/usage-coverage.ts";

const DAY = 24 * 3600;
const FINALIZATION = 2 * DAY;
const REFRESH_MS = 15 * 60_000;
const START = 20_000 * DAY;

/** Each day's usage at a time: it may be corrected until it is final, and grows on the day itself. */
function truth(day: number, now: number): number {
  if (day > now) return 0;
  const settledAt = day + DAY + FINALIZATION;
  return day / DAY + (now >= settledAt ? 1_000_000 : Math.floor(now / 600));
}

test("whatever is asked in whatever order: every day that was asked for is there, final days are read once, others are fresh", () => {
  const question = fc.record({
    waitS: fc.integer({ min: 0, max: 3 * DAY }),
    fromDay: fc.integer({ min: -500, max: 3 }),
    days: fc.integer({ min: 1, max: 420 }),
  });
  fc.assert(
    fc.property(fc.array(question, { minLength: 1, maxLength: 25 }), (questions) => {
      let now = START + 12_345;
      let known: UsageCoverage | undefined;
      const stored = new Map<number, number>();
      const readFinal = new Map<number, number>();
      let hasBegunAnew = false;
      for (const { waitS, fromDay, days } of questions) {
        now += waitS;
        const today = now - (now % DAY);
        const range = { start: today + fromDay * DAY + 77, end: today + (fromDay + days) * DAY };
        const needed = neededDays(range, now * 1000);
        if (needed.start >= needed.end) continue;
        const finalizedUntil = now - FINALIZATION;
        const { ranges, coverage } = planReading(known, {
          needed,
          nowMs: now * 1000,
          finalizedUntil,
          refreshMs: REFRESH_MS,
        });
        for (const { start, end } of ranges) {
          expect([start % DAY, end % DAY, start < end]).toEqual([0, 0, true]);
          for (let day = start; day < end; day += DAY) {
            stored.set(day, truth(day, now));
            if (day + DAY <= finalizedUntil) readFinal.set(day, (readFinal.get(day) ?? 0) + 1);
          }
        }
        if (known && (coverage.from > known.from || coverage.until < known.until)) hasBegunAnew = true;
        known = coverage;
        expect(coverage.from).toBeLessThanOrEqual(coverage.finalUntil);
        expect(coverage.finalUntil).toBeLessThanOrEqual(coverage.until);
        expect(isAnswered(coverage, needed)).toBe(true);
        for (let day = needed.start; day < needed.end; day += DAY) {
          const isFinal = day + DAY <= coverage.finalUntil;
          // What is not final is as it was at the last reading, which was a moment ago.
          const at = isFinal ? Number.MAX_SAFE_INTEGER : coverage.readAtMs / 1000;
          expect(stored.get(day), `day ${day / DAY}`).toBe(truth(day, at));
          if (!isFinal) expect(now * 1000 - coverage.readAtMs).toBeLessThan(REFRESH_MS);
        }
      }
      // Unless a question far away has begun anew, no final day is read twice.
      if (!hasBegunAnew) for (const [day, times] of readFinal) expect(times, `day ${day / DAY}`).toBe(1);
    }),
    { numRuns: 1_000 },
  );
});

describe("one SIM", () => {
  const now = START + 12 * 3600;
  const ask = (known: UsageCoverage | undefined, fromDay: number, toDay: number, atS = now) =>
    planReading(known, {
      needed: { start: START + fromDay * DAY, end: START + toDay * DAY },
      nowMs: atS * 1000,
      finalizedUntil: atS - FINALIZATION,
      refreshMs: REFRESH_MS,
    });

  test("a year asked for twice: nothing is asked of the operator the second time", () => {
    const first = ask(undefined, -365, 1);
    expect(first.ranges).toEqual([{ start: START - 365 * DAY, end: START + DAY }]);
    expect(ask(first.coverage, -365, 1).ranges).toEqual([]);
  });

  test("after a quarter of an hour only what is not final is asked for", () => {
    const { coverage } = ask(undefined, -365, 1);
    expect(ask(coverage, -365, 1, now + 899).ranges).toEqual([]);
    expect(ask(coverage, -365, 1, now + 900).ranges).toEqual([{ start: START - 2 * DAY, end: START + DAY }]);
    // Of what is final alone never.
    expect(ask(coverage, -365, -2, now + 900 * DAY).ranges).toEqual([]);
  });

  test("earlier days are asked for alone", () => {
    const { coverage } = ask(undefined, -30, 1);
    expect(ask(coverage, -60, -40).ranges).toEqual([{ start: START - 60 * DAY, end: START - 30 * DAY }]);
  });

  test("a question years away does not read what lies between", () => {
    const { coverage } = ask(undefined, -30, 1);
    const far = ask(coverage, -2_000, -1_990);
    expect(far.ranges).toEqual([{ start: START - 2_000 * DAY, end: START - 1_990 * DAY }]);
  });
});
