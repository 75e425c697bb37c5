import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contentDigest } from "../../../../src/lib/layer-parts/content-digest.ts";
import { chooseDownload, type DownloadQuestion, mayReadIndex } from "../../../../src/lib/layer-parts/decide.ts";
import type { Content, LayerLayout } from "../../../../src/lib/layer-parts/layer-layout.ts";
import { REQUEST_COST } from "../../../../src/lib/layer-parts/ranges.ts";

const HEADERS = 1000;

/** A pack with one frame of each length, and the headers behind them. */
function layoutOf(lengths: readonly number[]): LayerLayout {
  const contents: Content[] = [];
  let offset = 0;
  for (const [index, length] of lengths.entries()) {
    const digest = contentDigest(Buffer.from(String(index)));
    const part = { digest, size: length * 3, blob: "pack", offset, length, compression: "zstd" } as const;
    contents.push({ digest, size: part.size, parts: [part] });
    offset += length;
  }
  const headers = { digest: "", size: 0, blob: "pack", offset, length: HEADERS, compression: "zstd" } as const;
  const described = { entries: 0, unpackedBytes: 0 };
  return { diffId: "", size: 0, headers, described, contents: () => contents, segments: () => ({}) as never };
}

function question(lengths: readonly number[], held: readonly boolean[], layerSize: number): DownloadQuestion {
  const layout = layoutOf(lengths);
  const have = new Set([...layout.contents()].filter((_, index) => held[index]).map(({ digest }) => digest));
  const packSize = lengths.reduce((sum, length) => sum + length, HEADERS);
  return { layout, layerSize, packSize, isHeld: ({ digest }) => have.has(digest), fetched: [], cost: REQUEST_COST };
}

const lengthsAndHeld = fc
  .array(fc.tuple(fc.integer({ min: 1, max: 30_000 }), fc.boolean()), { minLength: 1, maxLength: 60 })
  .map((pairs) => ({ lengths: pairs.map(([length]) => length), held: pairs.map(([, isHeld]) => isHeld) }));

describe("by parts or whole", () => {
  it("never costs more than the whole, and covers what is missing", () => {
    fc.assert(
      fc.property(lengthsAndHeld, fc.integer({ min: 1, max: 500_000 }), ({ lengths, held }, layerSize) => {
        const asked = question(lengths, held, layerSize);
        const choice = chooseDownload(asked);
        expect(choice.cost).toBeLessThanOrEqual(layerSize + REQUEST_COST.overheadBytes);
        expect(choice.cost).toBe(choice.bytes + choice.ranges.length * REQUEST_COST.overheadBytes);
        if (choice.by === "whole") {
          expect(choice.ranges).toEqual([{ blob: "layer", offset: 0, length: layerSize }]);
          return;
        }
        const missing = [...asked.layout.contents()]
          .flatMap(({ parts }) => parts)
          .filter((part) => !asked.isHeld(part));
        for (const { offset, length } of [...missing, asked.layout.headers]) {
          const covering = choice.ranges.find(
            (range) => range.offset <= offset && range.offset + range.length >= offset + length,
          );
          expect(covering?.blob).toBe("pack");
        }
      }),
    );
  });

  it("with the index it may read costs at most 1.02 times the whole", () => {
    fc.assert(
      fc.property(
        lengthsAndHeld,
        fc.integer({ min: 1, max: 5_000_000 }),
        fc.nat(200_000),
        (parts, layerSize, indexSize) => {
          if (!mayReadIndex(indexSize, layerSize, REQUEST_COST)) return;
          const { cost } = chooseDownload(question(parts.lengths, parts.held, layerSize));
          const whole = layerSize + REQUEST_COST.overheadBytes;
          expect(indexSize + REQUEST_COST.overheadBytes + cost).toBeLessThanOrEqual(whole * 1.02);
        },
      ),
    );
  });

  it("is whole where many small holes are left, although they have fewer bytes", () => {
    const lengths = Array.from({ length: 2000 }, (_, index) => (index % 2 === 0 ? 100 : 5000));
    const held = lengths.map((_, index) => index % 2 === 1);
    const layerSize = 2_000_000;
    const choice = chooseDownload(question(lengths, held, layerSize));
    expect(choice.by).toBe("whole");
    expect(
      chooseDownload(
        question(
          lengths,
          held.map(() => true),
          layerSize,
        ),
      ),
    ).toMatchObject({ by: "parts", bytes: HEADERS });
  });

  it("merges the holes of a large layer into as many requests as allowed", () => {
    const lengths = Array.from({ length: 2000 }, (_, index) => (index % 2 === 0 ? 100 : 5000 + index));
    const held = lengths.map((_, index) => index % 2 === 1);
    const { by, ranges } = chooseDownload(question(lengths, held, 20_000_000));
    expect({ by, requests: ranges.length }).toEqual({ by: "parts", requests: REQUEST_COST.maxRequests });
  });

  it("pays for nothing twice: what was fetched is no part of the price, of the parts and of the whole", () => {
    fc.assert(
      fc.property(lengthsAndHeld, fc.integer({ min: 1, max: 500_000 }), ({ lengths, held }, layerSize) => {
        const asked = question(lengths, held, layerSize);
        const { ranges } = chooseDownload(asked);
        expect(chooseDownload({ ...asked, fetched: ranges })).toMatchObject({ bytes: 0, ranges: [] });
      }),
    );
  });

  it("refuses parts outside of their blob", () => {
    const asked = question([100, 200], [false, true], 10_000);
    expect(() => chooseDownload({ ...asked, packSize: 1299 })).toThrow("outside of its pack blob");
    expect(() => chooseDownload({ ...asked, packSize: 1300 })).not.toThrow();
  });
});
