import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { partsToRemove } from "../../../../../src/agent/core/image/part-sweep.ts";

const NOW = 1_000_000_000;
const BOUNDS = { keepMs: 1_000, reserveBytes: 500, minAgeMs: 0 };
const part = (digest: string, bytes: number, age: number) => ({ digest, bytes, changedAt: NOW - age });

describe("partial downloads", () => {
  test("that were not used for a long time are removed", () => {
    expect(partsToRemove([part("old", 10, 1_001), part("new", 10, 999)], 10_000, NOW, BOUNDS)).toEqual(["old"]);
  });

  test("are removed oldest first if the disk is short, and no more of them than necessary", () => {
    const parts = [part("new", 300, 1), part("oldest", 100, 30), part("older", 100, 20)];
    expect(partsToRemove(parts, 350, NOW, BOUNDS)).toEqual(["oldest", "older"]);
  });

  test("that are young are kept even if the disk is full", () => {
    const parts = [part("young", 300, 10), part("older", 100, 20)];
    expect(partsToRemove(parts, 0, NOW, { ...BOUNDS, minAgeMs: 15 })).toEqual(["older"]);
  });

  test("are kept if free space is unknown, and if the clock was set back", () => {
    expect(partsToRemove([part("new", 10, 1), part("of the future", 10, -99_999)], undefined, NOW, BOUNDS)).toEqual([]);
  });

  test("are only removed if too old, or if the disk was short without them", () => {
    const parts = fc.array(fc.record({ bytes: fc.nat(400), age: fc.nat(2_000) }), { maxLength: 10 });
    fc.assert(
      fc.property(parts, fc.nat(2_000), (given, free) => {
        const all = given.map(({ bytes, age }, index) => part(String(index), bytes, age));
        const removed = new Set(partsToRemove(all, free, NOW, BOUNDS));
        const gone = all.filter(({ digest }) => removed.has(digest));
        const freed = gone.reduce((sum, { bytes }) => sum + bytes, 0);
        const last = gone
          .toSorted((a, b) => a.changedAt - b.changedAt)
          .findLast(({ changedAt }) => NOW - changedAt <= 1_000);
        if (last) expect(free + freed - last.bytes).toBeLessThan(500);
        for (const { digest, changedAt } of all) {
          if (NOW - changedAt > 1_000) expect(removed.has(digest)).toBe(true);
          else if (!removed.has(digest)) expect(free + freed).toBeGreaterThanOrEqual(500);
        }
      }),
    );
  });
});
