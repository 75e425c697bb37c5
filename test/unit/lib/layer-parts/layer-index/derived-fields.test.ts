import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { blankDerived, fillDerived } from "../../../../../src/lib/layer-parts/layer-index/derived-fields.ts";
import { tarOf } from "../../../../support/layer-parts/tars.ts";

const SIZE_AT = 124;
const CHECKSUM_AT = 148;

/** As GNU tar and Go write it. */
async function headerOf(size: number): Promise<Buffer> {
  const header = (await tarOf([{ name: "file", content: Buffer.alloc(size) }])).subarray(0, 512);
  header.write(`${size.toString(8).padStart(11, "0")}\0`, SIZE_AT, "latin1");
  header.fill(" ", CHECKSUM_AT, CHECKSUM_AT + 8);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, CHECKSUM_AT, "latin1");
  return header;
}

describe("fields of a header that follow from others", () => {
  it("are blanked where they are restored exactly", async () => {
    const header = await headerOf(1000);
    const blank = Buffer.from(blankDerived(header, 1000));
    expect(blank.subarray(SIZE_AT, SIZE_AT + 12)).toEqual(Buffer.alloc(12));
    expect(blank.subarray(CHECKSUM_AT, CHECKSUM_AT + 8)).toEqual(Buffer.alloc(8));
    expect(fillDerived(blank, 1000)).toEqual(header);
  });

  it("stay where they are written in another way", async () => {
    const header = await headerOf(1000);
    header.write("1750 ", SIZE_AT, "latin1");
    header.write("  12345 ", CHECKSUM_AT, "latin1");
    expect(blankDerived(header, 1000)).toEqual(header);
    expect(fillDerived(header, 1000)).toEqual(header);
  });

  it("are restored whatever a header has", async () => {
    const header = await headerOf(1000);
    const edits = fc.array(fc.tuple(fc.integer({ min: 0, max: 511 }), fc.nat(255)), { maxLength: 4 });
    fc.assert(
      fc.property(edits, fc.integer({ min: 1, max: 2 ** 40 }), (changes, size) => {
        const changed = Buffer.from(header);
        for (const [at, byte] of changes) changed[at] = byte;
        expect(fillDerived(blankDerived(changed, size), size)).toEqual(changed);
      }),
    );
  });
});
