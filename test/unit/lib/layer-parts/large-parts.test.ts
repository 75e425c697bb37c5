import { describe, expect, it } from "vitest";
import type { LayerLayout } from "../../../../src/lib/layer-parts/layer-layout.ts";
import { rebuildLayer } from "../../../../src/lib/layer-parts/rebuild.ts";
import { MAX_BUFFERED_BYTES } from "../../../../src/lib/layer-parts/verified-bytes.ts";
import { MemorySource } from "../../../support/layer-parts/memory-source.ts";
import { collect, randomBytes, tarOf } from "../../../support/layer-parts/tars.ts";
import { layoutOf, zstdChunkedBlob, type ZstdChunkedBlob } from "../../../support/layer-parts/zstd-chunked-blob.ts";

const content = randomBytes(MAX_BUFFERED_BYTES + 1000, "large");
const tar = tarOf([
  { name: "large", content },
  { name: "end", content: randomBytes(100, "end") },
]);

async function written(chunkBytes: number): Promise<ZstdChunkedBlob & { readonly layout: LayerLayout }> {
  const blob = zstdChunkedBlob(await tar, { chunkBytes });
  return { ...blob, layout: await layoutOf(blob) };
}

describe.each([
  ["one part", Infinity],
  ["a part and a small one", MAX_BUFFERED_BYTES + 500],
])("a content too large for the memory, of %s", (_name, chunkBytes) => {
  it("is taken from the device", async () => {
    const { blob, layout } = await written(chunkBytes);
    const source = new MemorySource({ layer: blob });
    source.hold(content);
    expect((await collect(rebuildLayer(layout, source))).equals(await tar)).toBe(true);
    expect(source.fetchedBytes).toBeLessThan(content.length / 2);
  });

  it("is fetched where the device has another one, or loses it between two reads", async () => {
    const { blob, layout } = await written(chunkBytes);
    const [first] = layout.contents();
    const wrong = Buffer.from(content);
    wrong[MAX_BUFFERED_BYTES - 1] = (wrong[MAX_BUFFERED_BYTES - 1] ?? 0) ^ 1;
    const source = new MemorySource({ layer: blob });
    source.hold(wrong, first?.digest);
    expect((await collect(rebuildLayer(layout, source))).equals(await tar)).toBe(true);
    const losing = new MemorySource({ layer: blob });
    losing.hold(content);
    const read = losing.held.bind(losing);
    let reads = 0;
    losing.held = (part) => (part.digest === first?.digest && reads++ > 0 ? undefined : read(part));
    expect((await collect(rebuildLayer(layout, losing))).equals(await tar)).toBe(true);
  });
});
