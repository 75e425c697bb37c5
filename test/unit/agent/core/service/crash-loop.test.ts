import { describe, expect, it } from "vitest";
import {
  addEnd,
  type CrashCount,
  crashPauseMs,
  isSuspect,
  MAX_POWER_CUTS,
  NO_CRASHES,
  previousEnd,
  resumeOrder,
  timesLimitReached,
} from "../../../../../src/agent/core/service/crash-loop.ts";

const MAX_CRASHES = 3;
const counts: CrashCount[] = Array.from({ length: 12 }, (_, crashes) =>
  Array.from({ length: 35 }, (_unused, powerCuts) => ({ crashes, powerCuts })),
).flat();

describe("how the run before ended", () => {
  it.each([
    [undefined, "clean"],
    [{ bootId: "a", isClean: true }, "clean"],
    [{ bootId: "b", isClean: true }, "clean"],
    [{ bootId: "a", isClean: false }, "crash"],
    [{ bootId: "b", isClean: false }, "power_cut"],
  ] as const)("%j at boot a: %s", (last, end) => {
    expect(previousEnd(last, "a")).toBe(end);
  });
});

describe("what the count leads to", () => {
  it("a clean end counts nothing, any other one thing", () => {
    for (const count of counts) {
      expect(addEnd(count, "clean")).toEqual(count);
      expect(addEnd(count, "crash")).toEqual({ ...count, crashes: count.crashes + 1 });
      expect(addEnd(count, "power_cut")).toEqual({ ...count, powerCuts: count.powerCuts + 1 });
    }
  });

  it("the limit is reached at the third crash and at the tenth power cut, and not before", () => {
    expect(timesLimitReached(NO_CRASHES, MAX_CRASHES)).toBe(0);
    expect(timesLimitReached({ crashes: 2, powerCuts: MAX_POWER_CUTS - 1 }, MAX_CRASHES)).toBe(0);
    expect(timesLimitReached({ crashes: 3, powerCuts: 0 }, MAX_CRASHES)).toBe(1);
    expect(timesLimitReached({ crashes: 0, powerCuts: MAX_POWER_CUTS }, MAX_CRASHES)).toBe(1);
    expect(timesLimitReached({ crashes: 1, powerCuts: 0 }, 1)).toBe(1);
  });

  it("there is no pause below the limit, and no loop above it: each end makes it longer, up to six hours", () => {
    for (const count of counts) {
      const pause = crashPauseMs(count, MAX_CRASHES);
      expect(pause > 0).toBe(timesLimitReached(count, MAX_CRASHES) > 0);
      expect(pause).toBeLessThanOrEqual(6 * 3_600_000);
      for (const end of ["crash", "power_cut"] as const) {
        const next = crashPauseMs(addEnd(count, end), MAX_CRASHES);
        expect(next).toBeGreaterThanOrEqual(pause);
      }
      if (pause === 0) continue;
      const after = Array.from({ length: 8 }).reduce<CrashCount>((sum) => addEnd(sum, "crash"), count);
      expect(crashPauseMs({ ...after, crashes: Math.max(after.crashes, 11) }, MAX_CRASHES)).toBe(6 * 3_600_000);
    }
  });

  it("a deployment pauses only after its clean-up has reached the limit too", () => {
    for (const count of counts) {
      expect(crashPauseMs(count, MAX_CRASHES, 3) > 0).toBe(timesLimitReached(count, MAX_CRASHES) >= 3);
    }
  });

  it("one power cut makes nothing a suspect, one crash does", () => {
    expect(isSuspect({ crashes: 0, powerCuts: 1 })).toBe(false);
    expect(isSuspect({ crashes: 1, powerCuts: 0 })).toBe(true);
    expect(isSuspect({ crashes: 0, powerCuts: MAX_POWER_CUTS - 1 })).toBe(true);
  });
});

const named = (name: string, crashes: number) => ({ name, count: { crashes, powerCuts: 0 } });
const order = (...works: ReturnType<typeof named>[]) => resumeOrder(works).map(({ name }) => name);

describe("the order in which works are resumed", () => {
  it("has the most suspected first, and turns those around that are equal", () => {
    expect(order(named("a", 0), named("b", 2), named("c", 1))).toEqual(["b", "c", "a"]);
    expect(order(named("a", 1), named("b", 1))).toEqual(["b", "a"]);
    expect(order(named("a", 2), named("b", 2))).toEqual(["a", "b"]);
    expect(order(named("a", 0), named("b", 0))).toEqual(["a", "b"]);
  });
});
