import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { chooseReadAhead, type Reading } from "../../../../src/agent/contents/read-ahead.ts";

const MEMORY = 4 * 1024 * 1024;
const KB = 1_000;

/** @param files keys of the contents in the order of the image @param needed the same in the order of the layer */
function reading(files: readonly number[], needed: readonly number[], sizes: readonly number[]): Reading {
  return { files: Int32Array.from(files), needed, sizes };
}

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, index) => from + index);

/** The most bytes that wait, by the plainest way: contents read and still needed, after each that is needed. */
function mostWaiting({ files, needed, sizes }: Reading, ahead: readonly number[]): number {
  const waiting = new Set(ahead);
  let at = 0;
  let most = 0;
  const count = (): void => {
    most = Math.max(
      most,
      [...waiting].reduce((sum, key) => sum + (sizes[key] ?? 0), 0),
    );
  };
  count();
  for (const [use, key] of needed.entries()) {
    while (!waiting.has(key) && at < files.length) {
      const found = files[at++] ?? -1;
      if (found !== -1 && needed.includes(found, use) && (found !== key || needed.includes(key, use + 1)))
        waiting.add(found);
      count();
      if (found === key) break;
    }
    const comesAgain = files.includes(key, at) && !ahead.includes(key);
    if (comesAgain || !needed.includes(key, use + 1)) waiting.delete(key);
  }
  return most;
}

describe("what is read ahead of a passage through an image", () => {
  const sizes = range(0, 1_000).map(() => 50 * KB);

  test("is nothing where the order is the same, also with much removed", () => {
    const all = range(0, 1_000);
    expect(chooseReadAhead(reading(all, all, sizes))).toEqual([]);
    const fewer = all.filter((key) => key % 7 === 0 || key > 800);
    const files = all.map((key) => (fewer.includes(key) ? key : -1));
    expect(chooseReadAhead(reading(files, fewer, sizes))).toEqual([]);
  });

  test("is a small package that has moved from the end to the beginning", () => {
    const moved = range(990, 1_000);
    const ahead = chooseReadAhead(reading(range(0, 1_000), [...moved, ...range(0, 990)], sizes));
    expect(ahead).toEqual(moved);
  });

  test("is nothing where it would not help: too much has moved", () => {
    const needed = [...range(500, 1_000), ...range(0, 500)];
    expect(chooseReadAhead(reading(range(0, 1_000), needed, sizes))).toEqual([]);
  });

  test("is nothing where what would wait fits into memory", () => {
    const needed = [...range(990, 1_000), ...range(0, 990)];
    const small = sizes.map(() => KB);
    expect(chooseReadAhead(reading(range(0, 1_000), needed, small))).toEqual([]);
  });

  test("is each content once, in bounds, and makes what waits fit into memory", () => {
    const cases = fc
      .record({
        moves: fc.array(fc.tuple(fc.nat(299), fc.nat(299), fc.integer({ min: 1, max: 20 })), { maxLength: 4 }),
        repeats: fc.array(fc.tuple(fc.nat(299), fc.nat(299)), { maxLength: 20 }),
        sizes: fc.array(fc.integer({ min: 1, max: 200 * KB }), { minLength: 300, maxLength: 300 }),
      })
      .map(({ moves, repeats, sizes: bytes }) => {
        const needed = range(0, 300);
        for (const [from, to, count] of moves) needed.splice(to, 0, ...needed.splice(from, count));
        const files = range(0, 300);
        for (const [key, at] of repeats) {
          files.splice(at, 0, key);
          needed.splice((at * 7) % 300, 0, key);
        }
        return reading(files, needed, bytes);
      });
    let helped = 0;
    fc.assert(
      fc.property(cases, (tried) => {
        const ahead = chooseReadAhead(tried);
        expect(new Set(ahead).size).toBe(ahead.length);
        if (ahead.length === 0) return;
        helped++;
        expect(mostWaiting(tried, [])).toBeGreaterThan(MEMORY);
        expect(mostWaiting(tried, ahead)).toBeLessThanOrEqual(MEMORY);
        expect(ahead.reduce((sum, key) => sum + (tried.sizes[key] ?? 0), 0)).toBeLessThanOrEqual(MEMORY / 2);
      }),
      { numRuns: 300 },
    );
    expect(helped).toBeGreaterThan(10);
  });
});
