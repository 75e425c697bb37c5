import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CONTENT_DIGEST_BYTES } from "../../../../../src/lib/layer-parts/content-digest.ts";
import { encodeTable } from "../../../../../src/lib/layer-parts/layer-index/encode-table.ts";
import { INDEX_MAGIC, type IndexTable } from "../../../../../src/lib/layer-parts/layer-index/format.ts";
import { pushVarint } from "../../../../../src/lib/layer-parts/layer-index/varint.ts";
import { readLayerIndex } from "../../../../../src/lib/layer-parts/layer-index/read-index.ts";
import { writeLayerIndex } from "../../../../../src/lib/layer-parts/layer-index/write-index.ts";
import { LayoutError } from "../../../../../src/lib/layer-parts/layer-layout.ts";
import { LAYOUT_LIMITS } from "../../../../../src/lib/layer-parts/limits.ts";
import { rebuildLayer } from "../../../../../src/lib/layer-parts/rebuild.ts";
import { indexTar } from "../../../../support/layer-parts/indexed-layer.ts";
import { MemorySource } from "../../../../support/layer-parts/memory-source.ts";
import { collect, diffIdOf, inPieces, randomBytes, tarOf } from "../../../../support/layer-parts/tars.ts";

const diffId = `sha256:${"5".repeat(64)}`;
const digest = "6".repeat(20);
const part = { digest, size: 512, length: 100 };
const honest: IndexTable = {
  diffId,
  tarSize: 2048,
  headers: { size: 1536, length: 50, digest: "7".repeat(20) },
  files: [{ gap: 512, content: 0, isPadded: true }],
  contents: [{ digest, parts: [part] }],
};
const read = (table: IndexTable): unknown => readLayerIndex(encodeTable(table), { diffId, packSize: 150 });

function indexOf(table: Uint8Array): Buffer {
  return Buffer.concat([INDEX_MAGIC, zstdCompressSync(table)]);
}

describe("an index that lies", () => {
  it("is read where it does not", () => {
    expect(read(honest)).toMatchObject({ diffId, size: 2048, headers: { offset: 100, length: 50 } });
  });

  it.each<[string, Partial<IndexTable>, string]>([
    ["of the layer", { diffId: `sha256:${"8".repeat(64)}` }, "of another layer"],
    ["of the layer's size", { tarSize: 2047 }, "do not fill the layer"],
    ["of a size beyond all bounds", { tarSize: 2 ** 50 }, "is larger than"],
    ["of the headers' size", { headers: { ...honest.headers, size: 2 ** 40 } }, "is larger than"],
    ["of the headers' place", { headers: { ...honest.headers, length: 151 } }, "is larger than"],
    ["of the bytes before a file", { files: [{ gap: 1537, content: 0, isPadded: true }] }, "is larger than"],
    ["of a file without a header", { files: [{ gap: 511, content: 0, isPadded: true }] }, "has no header"],
    ["of a content", { files: [{ gap: 512, content: 3, isPadded: true }] }, "is larger than"],
    ["of a content that no file has", { files: [] }, "belong to no file"],
    ["of a part's size", { contents: [{ digest, parts: [{ ...part, size: 5000 }] }] }, "do not fill the layer"],
    ["of an empty part", { contents: [{ digest, parts: [{ ...part, size: 0 }] }] }, "is empty"],
    ["of a part outside of the pack", { contents: [{ digest, parts: [{ ...part, length: 101 }] }] }, "is larger than"],
    [
      "of a part that leaves a gap",
      { contents: [{ digest, parts: [{ ...part, length: 99 }] }] },
      "do not fill the pack",
    ],
    ["of a part that is somewhere else", { contents: [{ digest, parts: [{ ...part, length: 0 }] }] }, "is empty"],
  ])("%s is refused", (_name, lie, reason) => {
    expect(() => read({ ...honest, ...lie })).toThrow(LayoutError);
    expect(() => read({ ...honest, ...lie })).toThrow(reason);
  });

  it("of a number of files is refused before memory is taken for them", () => {
    const table = zstdDecompressSync(encodeTable(honest).subarray(INDEX_MAGIC.length));
    const at = table.indexOf(Buffer.from("7".repeat(20), "hex")) + CONTENT_DIGEST_BYTES;
    const withFiles = (count: number): Buffer => {
      const varint: number[] = [];
      pushVarint(varint, count);
      return indexOf(Buffer.concat([table.subarray(0, at), Uint8Array.from(varint), table.subarray(at + 1)]));
    };
    const readAs = (count: number) => () => readLayerIndex(withFiles(count), { diffId, packSize: 150 });
    const { maxEntries } = LAYOUT_LIMITS;
    expect(readAs(1)).not.toThrow();
    expect(readAs(maxEntries + 1)).toThrow(`is larger than ${maxEntries}`);
    expect(readAs(maxEntries)).toThrow(`more than ${maxEntries} files`);
    expect(readAs(maxEntries - 2)).toThrow("cut off");
  });

  it("unpacks no further than the limit", () => {
    const bomb = indexOf(Buffer.alloc(LAYOUT_LIMITS.maxTableBytes + 1));
    expect(bomb.length).toBeLessThan(10_000);
    expect(() => readLayerIndex(bomb, { diffId, packSize: 1 })).toThrow("is too large");
  });

  it("with any bytes changed is refused, or the rebuilt layer is the right one", async () => {
    const tar = await tarOf([
      { name: "a", content: randomBytes(900, "a") },
      { name: "b", content: Buffer.alloc(2000, "b") },
      { name: "c", content: randomBytes(900, "a") },
    ]);
    const { index, pack, ...layer } = await indexTar(tar);
    const table = zstdDecompressSync(index.subarray(INDEX_MAGIC.length));
    await fc.assert(
      fc.asyncProperty(
        fc.nat(table.length - 1),
        fc.nat(255),
        fc.nat(pack.length - 1),
        fc.nat(1),
        async (at, byte, packAt, where) => {
          const [changed, changedPack] = [Buffer.from(table), Buffer.from(pack)];
          if (where === 0) changed[at] = byte;
          else changedPack[packAt] = byte;
          const rebuilt = async (): Promise<Buffer> => {
            const layout = readLayerIndex(indexOf(changed), { diffId: layer.diffId, packSize: pack.length });
            return await collect(rebuildLayer(layout, new MemorySource({ pack: changedPack })));
          };
          const result = await rebuilt().catch((error: unknown) => error);
          expect(result instanceof LayoutError || (result as Buffer).equals(tar)).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });

  it("ends with any number of bytes missing with a reason", async () => {
    const { index, pack, ...layer } = await indexTar(await tarOf([{ name: "a", content: randomBytes(900, "a") }]));
    for (let length = 0; length < index.length; length++) {
      const cut = index.subarray(0, length);
      expect(() => readLayerIndex(cut, { diffId: layer.diffId, packSize: pack.length })).toThrow(LayoutError);
    }
  });
});

describe("writing an index", () => {
  it.each([
    ["of another layer", diffIdOf(Buffer.alloc(0)), 0, "instead of"],
    ["of a tar that is cut off", undefined, 100, "cut off"],
  ])("%s is refused", async (_name, wrong, missing, reason) => {
    const whole = await tarOf([{ name: "a", content: randomBytes(900, "a") }]);
    const tar = whole.subarray(0, missing === 0 ? whole.length : 512 + missing);
    const write = writeLayerIndex(inPieces(tar), wrong ?? diffIdOf(tar), () => {});
    await expect(write).rejects.toThrow(reason);
  });

  it("of what is not a tar is refused", async () => {
    const text = Buffer.alloc(2048, "text");
    await expect(writeLayerIndex(inPieces(text), diffIdOf(text), () => {})).rejects.toThrow("is not a tar");
  });
});
