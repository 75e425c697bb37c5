import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { chooseDownload } from "../../../../../src/lib/layer-parts/decide.ts";
import type { Content } from "../../../../../src/lib/layer-parts/layer-layout.ts";
import { rebuildLayer } from "../../../../../src/lib/layer-parts/rebuild.ts";
import { unpack } from "../../../../../src/lib/layer-parts/unpack.ts";
import {
  findZstdChunked,
  readZstdChunkedFooter,
  ZSTD_CHUNKED_FOOTER_BYTES,
} from "../../../../../src/lib/layer-parts/zstd-chunked/place.ts";
import { layerFixture } from "../../../../support/layer-parts/fixture.ts";
import { MemorySource } from "../../../../support/layer-parts/memory-source.ts";
import { collect, diffIdOf, tarEntries, tarOf } from "../../../../support/layer-parts/tars.ts";
import { layoutOf, zstdChunkedBlob } from "../../../../support/layer-parts/zstd-chunked-blob.ts";

async function contentOf({ parts }: Content, blob: Uint8Array): Promise<Uint8Array> {
  const source = new MemorySource({ layer: blob });
  return Buffer.concat(await Promise.all(parts.map((part) => collect(unpack(part, source.fetched(part))))));
}

async function* failure(): AsyncGenerator<Uint8Array> {
  yield Uint8Array.of(1);
  await Promise.reject(new Error("the image was removed"));
}

describe("a layer that skopeo wrote", () => {
  it("is rebuilt exactly from its blob", async () => {
    const fixture = layerFixture("skopeo-1.18");
    const layout = await layoutOf(fixture);
    const tar = await collect(rebuildLayer(layout, new MemorySource({ layer: fixture.blob })));
    expect(diffIdOf(tar)).toBe(fixture.diffId);
    expect(layout.size).toBe(tar.length);
  });

  it("is rebuilt from what the device has, and only the rest is fetched", async () => {
    const fixture = layerFixture("skopeo-1.18");
    const layout = await layoutOf(fixture);
    const source = new MemorySource({ layer: fixture.blob });
    const contents = [...layout.contents()];
    const missing = contents.find(({ size }) => size === 1024);
    for (const content of contents) if (content !== missing) source.hold(await contentOf(content, fixture.blob));
    expect(diffIdOf(await collect(rebuildLayer(layout, source)))).toBe(fixture.diffId);
    expect(source.places).toEqual([layout.headers, ...(missing?.parts ?? [])]);
  });

  it("is rebuilt where a content on the device is a wrong one, cut off, or cannot be read", async () => {
    const fixture = layerFixture("skopeo-1.18");
    const layout = await layoutOf(fixture);
    const source = new MemorySource({ layer: fixture.blob });
    for (const [index, content] of [...layout.contents()].entries()) {
      const bytes = Buffer.from(await contentOf(content, fixture.blob));
      if (index % 3 === 0) source.hold(bytes.subarray(1), content.digest);
      else source.hold(bytes.fill(1, 50, 60), content.digest);
    }
    expect(diffIdOf(await collect(rebuildLayer(layout, source)))).toBe(fixture.diffId);
    const failing = new MemorySource({ layer: fixture.blob });
    failing.held = () => failure();
    expect(diffIdOf(await collect(rebuildLayer(layout, failing)))).toBe(fixture.diffId);
  });

  it("has the same tables by its footer", () => {
    const { blob, annotations } = layerFixture("skopeo-1.18");
    const footer = readZstdChunkedFooter(blob.subarray(-ZSTD_CHUNKED_FOOTER_BYTES), blob.length);
    expect({ ...footer, tocDigest: undefined }).toEqual({
      ...findZstdChunked(annotations, blob.length),
      tocDigest: undefined,
    });
  });

  it("before tar-split data was written is refused, because its exact tar is not known", () => {
    const { blob, annotations } = layerFixture("skopeo-1.9");
    expect(() => findZstdChunked(annotations, blob.length)).toThrow("without tar-split data");
  });
});

/** The rest of the one after a chunk of 106 zeros has the same bytes as the other: they are at two places, and fetched from both. */
const PIECE_AND_CONTENT_ALIKE = [
  { name: "long", content: Buffer.alloc(109) },
  { name: "short", content: Buffer.alloc(3) },
];

describe("any tar", () => {
  it("needs no other bytes than the price has, also of contents that it has twice", async () => {
    await fc.assert(
      fc.asyncProperty(tarEntries, fc.integer({ min: 100, max: 9000 }), fc.nat(), async (entries, chunkBytes, held) => {
        const written = zstdChunkedBlob(await tarOf([...entries, ...entries]), { chunkBytes });
        const source = new MemorySource({ layer: written.blob });
        entries.forEach(
          ({ content }, index) => (held >> index) % 2 === 1 && content !== undefined && source.hold(content),
        );
        const layout = await layoutOf(written);
        const cost = { overheadBytes: 0, maxRequests: Infinity };
        const question = { layout, layerSize: 1e9, isHeld: source.isHeld, fetched: [], cost };
        const { ranges, bytes } = chooseDownload(question);
        await collect(rebuildLayer(layout, source));
        for (const { offset, length } of source.places) {
          const covering = ranges.find(
            (range) => range.offset <= offset && range.offset + range.length >= offset + length,
          );
          expect(covering).toBeDefined();
        }
        const distinct = new Map(source.places.map(({ offset, length }) => [offset, length]));
        expect(bytes).toBe([...distinct.values()].reduce((sum, length) => sum + length, 0));
      }),
      { numRuns: 60, examples: [[PIECE_AND_CONTENT_ALIKE, 106, 0]] },
    );
  });

  it("is rebuilt exactly, with chunks of any size and whatever the device has", async () => {
    await fc.assert(
      fc.asyncProperty(tarEntries, fc.integer({ min: 100, max: 9000 }), fc.nat(), async (entries, chunkBytes, held) => {
        const tar = await tarOf(entries);
        const written = zstdChunkedBlob(tar, { chunkBytes });
        const source = new MemorySource({ layer: written.blob });
        entries.forEach(
          ({ content }, index) => (held >> index) % 2 === 1 && content !== undefined && source.hold(content),
        );
        const layout = await layoutOf(written);
        expect(layout.size).toBe(tar.length);
        expect((await collect(rebuildLayer(layout, source))).equals(tar)).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});
