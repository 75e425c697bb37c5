import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { chooseDownload, mayReadIndex } from "../../../../src/lib/layer-parts/decide.ts";
import { REQUEST_COST } from "../../../../src/lib/layer-parts/ranges.ts";
import { rebuildLayer } from "../../../../src/lib/layer-parts/rebuild.ts";
import { indexTar } from "../../../support/layer-parts/indexed-layer.ts";
import { MemorySource } from "../../../support/layer-parts/memory-source.ts";
import { collect, randomBytes, type TarEntry, tarOf } from "../../../support/layer-parts/tars.ts";

const FILES = 600;

/** Text that compresses to about a third. */
function textOf(seed: string, bytes: number): Buffer {
  const words = randomBytes(bytes / 3, seed);
  return Buffer.from([...words].map((byte) => `w${byte % 200}`).join(" ")).subarray(0, bytes);
}

/** An app whose files are all written anew, but of which few are others. */
async function release(version: string, changed: number): Promise<{ tar: Buffer; contents: readonly Buffer[] }> {
  const contents = Array.from({ length: FILES }, (_, index) =>
    textOf(`${index}${index % (FILES / changed) === 0 ? version : ""}`, 4000 + (index % 50) * 300),
  );
  const mtime = new Date(version === "1" ? 1_700_000_000_000 : 1_710_000_000_000);
  const entries: TarEntry[] = contents.map((content, index) => ({ name: `app/lib/file-${index}.js`, content, mtime }));
  return { tar: await tarOf(entries), contents };
}

describe("a patch release with an index beside it", () => {
  it.each([
    { changed: 6, factor: 15 },
    { changed: 60, factor: 5 },
  ])("that changes $changed of 600 files costs at most 1/$factor of the layer", async ({ changed, factor }) => {
    const [before, after] = [await release("1", changed), await release("2", changed)];
    const layerSize = gzipSync(after.tar).length;
    const { index, pack, layout } = await indexTar(after.tar);
    const source = new MemorySource({ pack });
    for (const content of before.contents) source.hold(content);
    const question = {
      layout,
      layerSize,
      packSize: pack.length,
      isHeld: source.isHeld,
      fetched: [],
      cost: REQUEST_COST,
    };
    const { by, bytes } = chooseDownload(question);
    expect(by).toBe("parts");
    expect(mayReadIndex(index.length, layerSize, REQUEST_COST)).toBe(true);
    expect(index.length + bytes).toBeLessThanOrEqual(layerSize / factor);
    expect((await collect(rebuildLayer(layout, source))).equals(after.tar)).toBe(true);
  });
});
