import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { missingParts } from "../../../../../src/lib/layer-parts/decide.ts";
import { rebuildLayer } from "../../../../../src/lib/layer-parts/rebuild.ts";
import { indexTar } from "../../../../support/layer-parts/indexed-layer.ts";
import { MemorySource } from "../../../../support/layer-parts/memory-source.ts";
import { collect, randomBytes, tarEntries, tarOf } from "../../../../support/layer-parts/tars.ts";

const MIB = 1024 * 1024;

describe("an index of any tar", () => {
  it("rebuilds it exactly, in whatever pieces it was read and whatever the device has", async () => {
    const pieces = fc.array(fc.integer({ min: 1, max: 1500 }), { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(tarEntries, pieces, fc.nat(), fc.nat(3000), async (entries, pieceBytes, held, more) => {
        const tar = Buffer.concat([await tarOf(entries), Buffer.alloc(more, more % 2)]);
        const { pack, layout } = await indexTar(tar, pieceBytes);
        const source = new MemorySource({ pack });
        entries.forEach(
          ({ content }, index) => (held >> index) % 2 === 1 && content !== undefined && source.hold(content),
        );
        expect(layout.size).toBe(tar.length);
        expect((await collect(rebuildLayer(layout, source))).equals(tar)).toBe(true);
        const parts = [...layout.contents()].flatMap((content) => missingParts(content, source.isHeld));
        expect(source.places).toEqual([layout.headers, ...parts]);
      }),
      { numRuns: 60 },
    );
  });
});

describe("an index", () => {
  it("packs a large content in parts, and the same part once", async () => {
    const large = randomBytes(3 * MIB, "large");
    const tar = await tarOf([
      { name: "one", content: large },
      { name: "same", content: large },
      { name: "longer", content: Buffer.concat([large, randomBytes(MIB, "end")]) },
    ]);
    const { pack, layout } = await indexTar(tar);
    const contents = [...layout.contents()];
    expect(contents.every((content) => content.parts.length > 1)).toBe(true);
    expect(pack.length).toBeLessThan(6 * MIB);
    const source = new MemorySource({ pack });
    source.hold(large);
    const [first] = contents[2]?.parts ?? [];
    source.hold(large.subarray(0, first?.size), first?.digest);
    expect((await collect(rebuildLayer(layout, source))).equals(tar)).toBe(true);
    expect(source.places).toEqual([layout.headers, ...(contents[2]?.parts.slice(1) ?? [])]);
  });

  it("takes a wrong part of a large content from the pack, and the others from the device", async () => {
    const large = randomBytes(4 * MIB, "large");
    const { pack, layout } = await indexTar(await tarOf([{ name: "one", content: large }]));
    const [content] = layout.contents();
    const wrong = Buffer.from(large);
    wrong[2 * MIB] = (wrong[2 * MIB] ?? 0) ^ 1;
    const source = new MemorySource({ pack });
    source.hold(wrong, content?.digest);
    await collect(rebuildLayer(layout, source));
    expect(source.places).toHaveLength(2);
  });

  it("of a file that has no zeros behind it rebuilds what is there", async () => {
    const tar = await tarOf([
      { name: "a", content: Buffer.alloc(700, "a") },
      { name: "b", content: Buffer.alloc(512, "b") },
    ]);
    tar.fill(7, 512 + 700, 512 + 1024);
    const { pack, layout } = await indexTar(tar);
    expect((await collect(rebuildLayer(layout, new MemorySource({ pack })))).equals(tar)).toBe(true);
  });

  it("of 10,000 files has at most 400 kB with the headers, of which a device reads half to decide", async () => {
    const entries = Array.from({ length: 10_000 }, (_, index) => ({
      name: `app/node_modules/${randomBytes(4, `d${index >> 3}`).toString("hex")}/lib/${randomBytes(5, `f${index}`).toString("hex")}.js`,
      content: randomBytes(70 + (index % 400), String(index)),
    }));
    const { index, layout } = await indexTar(await tarOf(entries));
    expect([...layout.contents()]).toHaveLength(10_000);
    expect(index.length).toBeLessThan(200_000);
    expect(index.length + layout.headers.length).toBeLessThan(400_000);
  });
});
