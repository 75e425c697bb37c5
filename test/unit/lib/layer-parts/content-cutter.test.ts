import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ContentCutter, PART_BYTES } from "../../../../src/lib/layer-parts/content-cutter.ts";
import { contentDigest } from "../../../../src/lib/layer-parts/content-digest.ts";
import { randomBytes } from "../../../support/layer-parts/tars.ts";

const MIB = 1024 * 1024;

function partsOf(content: Uint8Array, pieceBytes = content.length): Uint8Array[] {
  const cutter = new ContentCutter(content.length);
  const parts: Uint8Array[] = [];
  for (let at = 0; at < content.length; at += pieceBytes)
    parts.push(...cutter.read(content.subarray(at, at + pieceBytes)));
  const last = cutter.end();
  return last === undefined ? parts : [...parts, last];
}

describe("the parts of a content", () => {
  const content = randomBytes(12 * MIB, "content");

  it("are one for a small one", () => {
    expect(partsOf(content.subarray(0, PART_BYTES.whole), 5000)).toHaveLength(1);
  });

  it("have sizes within their bounds, and make up the content", () => {
    const parts = partsOf(content);
    expect(parts.length).toBeGreaterThan(6);
    expect(Buffer.concat(parts).equals(content)).toBe(true);
    for (const part of parts.slice(0, -1)) expect(part.length).toBeGreaterThanOrEqual(PART_BYTES.min);
    for (const part of parts) expect(part.length).toBeLessThanOrEqual(PART_BYTES.max);
  });

  it("are the same however the content comes", () => {
    const digests = partsOf(content).map(contentDigest);
    fc.assert(
      fc.property(fc.integer({ min: 1000, max: 3 * MIB }), (pieceBytes) => {
        expect(partsOf(content, pieceBytes).map(contentDigest)).toEqual(digests);
      }),
      { numRuns: 10 },
    );
  });

  it("stay the same before and behind an insertion", () => {
    const digests = new Set(partsOf(content).map(contentDigest));
    const changed = Buffer.concat([content.subarray(0, 5 * MIB), Buffer.from("inserted"), content.subarray(5 * MIB)]);
    const others = partsOf(changed).filter((part) => !digests.has(contentDigest(part)));
    expect(others.length).toBeLessThanOrEqual(2);
  });

  it("of bytes that are all the same are as large as may be", () => {
    expect(partsOf(Buffer.alloc(5 * MIB)).map((part) => part.length)).toEqual([2 * MIB, 2 * MIB, MIB]);
  });
});
