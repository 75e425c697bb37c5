import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { rebuildLayer } from "../../../../src/lib/layer-parts/rebuild.ts";
import { layerFixture } from "../../../support/layer-parts/fixture.ts";
import { indexTar } from "../../../support/layer-parts/indexed-layer.ts";
import { MemorySource } from "../../../support/layer-parts/memory-source.ts";
import { collect } from "../../../support/layer-parts/tars.ts";

interface TocEntry {
  readonly name: string;
  readonly size?: number;
  readonly offset?: number;
}

function tocOf(tar: Buffer): readonly TocEntry[] {
  const text = tar.subarray(tar.indexOf("stargz.index.json") + 512).toString("utf8");
  return (JSON.parse(text.slice(0, text.lastIndexOf("}") + 1)) as { readonly entries: readonly TocEntry[] }).entries;
}

describe("an eStargz layer", () => {
  const { blob, diffId } = layerFixture("estargz");
  const tar = gunzipSync(blob);

  it("has the headers of its tar in the gzip members of contents that a device may have", () => {
    const files = tocOf(tar).filter(({ offset }) => offset !== undefined);
    const hidden = files.filter(({ offset, size = 0 }, index) => {
      const next = files[index + 1];
      if (next === undefined) return false;
      const member = gunzipSync(blob.subarray(offset, next.offset));
      return member.subarray(size).includes(next.name);
    });
    expect(hidden.length).toBeGreaterThan(5);
  });

  it("is rebuilt by an index beside it, as any other gzip layer", async () => {
    const { pack, layout } = await indexTar(tar);
    expect(layout.diffId).toBe(diffId);
    expect((await collect(rebuildLayer(layout, new MemorySource({ pack })))).equals(tar)).toBe(true);
  });
});
