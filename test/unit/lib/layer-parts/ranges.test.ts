import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { costOf, mergeSpans, type Span, subtractSpans } from "../../../../src/lib/layer-parts/ranges.ts";

const spans = fc.array(fc.record({ offset: fc.nat(300), length: fc.integer({ min: 1, max: 20 }) }), { maxLength: 12 });

function bytesOf(list: readonly Span[]): Set<number> {
  return new Set(list.flatMap(({ offset, length }) => Array.from({ length }, (_, index) => offset + index)));
}

/** All ways to fetch the spans, each gap fetched or not. */
function cheapest(list: readonly Span[], overheadBytes: number, maxRequests: number): number {
  const apart = mergeSpans(list, { overheadBytes: 0, maxRequests: Infinity });
  const cost = { overheadBytes, maxRequests };
  let best = Infinity;
  for (let choice = 0; choice < 2 ** Math.max(0, apart.length - 1); choice++) {
    const merged = apart.slice(0, 1);
    for (const [index, span] of apart.slice(1).entries()) {
      const last = merged.at(-1) as Span;
      if ((choice >> index) % 2 === 0) merged.push(span);
      else merged.splice(-1, 1, { offset: last.offset, length: span.offset + span.length - last.offset });
    }
    if (merged.length <= maxRequests) best = Math.min(best, costOf(merged, cost));
  }
  return best;
}

describe("merging of ranges", () => {
  it("covers all that is needed, with disjoint requests in order, and no more of them than allowed", () => {
    fc.assert(
      fc.property(spans, fc.nat(30), fc.integer({ min: 1, max: 6 }), (list, overheadBytes, maxRequests) => {
        const merged = mergeSpans(list, { overheadBytes, maxRequests });
        expect([...bytesOf(list)].every((byte) => bytesOf(merged).has(byte))).toBe(true);
        expect(merged.length).toBeLessThanOrEqual(maxRequests);
        for (const [index, span] of merged.slice(1).entries()) {
          const before = merged[index] as Span;
          expect(span.offset - before.offset - before.length).toBeGreaterThan(overheadBytes);
        }
      }),
    );
  });

  it("costs as little as any other choice of requests", () => {
    fc.assert(
      fc.property(spans, fc.nat(30), fc.integer({ min: 1, max: 6 }), (list, overheadBytes, maxRequests) => {
        const cost = { overheadBytes, maxRequests };
        expect(costOf(mergeSpans(list, cost), cost)).toBe(
          list.length === 0 ? 0 : cheapest(list, overheadBytes, maxRequests),
        );
      }),
    );
  });
});

describe("what has been fetched", () => {
  it("is taken off, to the byte", () => {
    fc.assert(
      fc.property(spans, spans, (list, others) => {
        const left = [...bytesOf(subtractSpans(list, others))].toSorted((one, other) => one - other);
        const gone = bytesOf(others);
        expect(left).toEqual(
          [...bytesOf(list)].filter((byte) => !gone.has(byte)).toSorted((one, other) => one - other),
        );
      }),
    );
  });
});
