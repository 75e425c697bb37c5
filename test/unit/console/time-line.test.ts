import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { mergeTimeLine } from "../../../src/console/pages/asset/history-items.ts";

const happened = (key: string, at: number) => ({ key, at });

describe("the time line of an asset", () => {
  it("has everything once, newest first", () => {
    const deployments = { items: [happened("d2", 20), happened("d1", 10)], hasMore: false };
    const audit = { items: [happened("a1", 15), happened("d1", 10)], hasMore: false };
    const line = mergeTimeLine([deployments, audit]);
    expect(line.items.map(({ key }) => key)).toEqual(["d2", "a1", "d1"]);
    expect(line).toMatchObject({ hasMore: false, heldBack: 0, loadNext: [] });
  });

  it("shows nothing older than what a source has still to load", () => {
    const deployments = { items: [happened("d2", 20), happened("d1", 18)], hasMore: true };
    const audit = { items: [happened("a2", 19), happened("a1", 5)], hasMore: true };
    const line = mergeTimeLine([deployments, audit]);
    expect(line.items.map(({ key }) => key)).toEqual(["d2", "a2", "d1"]);
    expect(line).toMatchObject({ hasMore: true, heldBack: 1, loadNext: [0] });
  });

  it("waits for a source that has loaded nothing yet", () => {
    const line = mergeTimeLine([
      { items: [], hasMore: true },
      { items: [happened("a", 1)], hasMore: false },
    ]);
    expect(line).toMatchObject({ items: [], heldBack: 1, loadNext: [0] });
  });

  it("never has a hole, however the pages come", () => {
    const times = fc.array(fc.nat(40), { maxLength: 20 });
    fc.assert(
      fc.property(fc.array(fc.tuple(times, fc.nat(20)), { minLength: 1, maxLength: 4 }), (sources) => {
        const all = sources.map(([values], source) =>
          values.toSorted((a, b) => b - a).map((at, index) => happened(`${source}-${index}`, at)),
        );
        const loaded = sources.map(([, count], source) => {
          const items = (all[source] ?? []).slice(0, count);
          return { items, hasMore: items.length < (all[source] ?? []).length };
        });
        const { items, loadNext, hasMore } = mergeTimeLine(loaded);
        const oldest = items.at(-1)?.at ?? Infinity;
        const newer = all.flat().filter(({ at }) => at > oldest);
        expect(items.map(({ key }) => key)).toEqual(expect.arrayContaining(newer.map(({ key }) => key)));
        // Loading the named sources on always ends.
        expect(loadNext.length > 0).toBe(hasMore);
        expect(loadNext.every((source) => loaded[source]?.hasMore)).toBe(true);
      }),
    );
  });
});
