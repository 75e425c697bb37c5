import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { contentDigest } from "../../../../src/lib/layer-parts/content-digest.ts";
import { DigestTable } from "../../../../src/lib/layer-parts/digest-table.ts";

describe("a table of digests", () => {
  it("returns them in their order, and finds the first of equal ones", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(300), { maxLength: 2000 }), (numbers) => {
        const digests = numbers.map((number) => contentDigest(Buffer.from(String(number))));
        const table = new DigestTable();
        for (const digest of digests) expect(table.add(digest)).toBe(digests.indexOf(digest));
        expect(digests.map((_, index) => table.at(index))).toEqual(digests);
      }),
      { numRuns: 30 },
    );
  });

  it("takes as many as there are, also those that have the same beginning or end", () => {
    const table = new DigestTable();
    for (let number = 0; number < 20_000; number++) {
      const digits = number.toString(16).padStart(10, "0");
      expect(table.add(`${"a".repeat(10)}${digits}`)).toBe(number * 2);
      expect(table.add(`${digits}${"b".repeat(10)}`)).toBe(number * 2 + 1);
    }
    expect(table.at(30_001)).toBe(`${(15_000).toString(16).padStart(10, "0")}${"b".repeat(10)}`);
  });
});
