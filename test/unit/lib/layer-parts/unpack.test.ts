import { constants, createZstdCompress, gzipSync, zstdCompressSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { contentDigest } from "../../../../src/lib/layer-parts/content-digest.ts";
import { LayoutError, type PlacedBytes } from "../../../../src/lib/layer-parts/layer-layout.ts";
import { MAX_AT_ONCE_BYTES, unpack } from "../../../../src/lib/layer-parts/unpack.ts";
import { collect, inPieces, randomBytes } from "../../../support/layer-parts/tars.ts";

const small = Buffer.concat([randomBytes(5000, "small"), Buffer.alloc(5000)]);
const large = Buffer.concat([randomBytes(MAX_AT_ONCE_BYTES, "large"), Buffer.alloc(5000)]);

function placeOf(content: Uint8Array, packed: Uint8Array, other: Partial<PlacedBytes> = {}): PlacedBytes {
  const digest = contentDigest(content);
  return {
    digest,
    size: content.length,
    blob: "pack",
    offset: 0,
    length: packed.length,
    compression: "zstd",
    ...other,
  };
}

async function* failing(): AsyncGenerator<Uint8Array> {
  yield zstdCompressSync(large).subarray(0, 100);
  await Promise.reject(new Error("the link is down"));
}

describe.each([
  ["a small part", small],
  ["a part that is read as a stream", large],
])("%s", (_name, content) => {
  it.each([
    ["zstd", zstdCompressSync(content)],
    ["gzip", gzipSync(content)],
    ["none", content],
  ] as const)("is unpacked (%s)", async (compression, packed) => {
    const place = placeOf(content, packed, { compression });
    expect((await collect(unpack(place, inPieces(packed)))).equals(content)).toBe(true);
  });

  it("is refused when it is larger, smaller, another one, cut off or damaged", async () => {
    const packed = zstdCompressSync(content);
    const read = (other: Partial<PlacedBytes>, bytes = packed): Promise<Buffer> =>
      collect(unpack(placeOf(content, packed, other), inPieces(bytes)));
    await expect(read({ size: content.length - 1 })).rejects.toThrow("unpacks to more than");
    await expect(read({ size: content.length + 1 })).rejects.toThrow("and should have");
    await expect(read({ digest: "0".repeat(20) })).rejects.toThrow("does not have its digest");
    await expect(read({}, packed.subarray(0, -9))).rejects.toThrow(LayoutError);
    await expect(read({}, Buffer.concat([Buffer.alloc(4), packed.subarray(4)]))).rejects.toThrow("cannot be unpacked");
  });
});

describe("a part", () => {
  it("that is a bomb is unpacked no further than its size", async () => {
    const bomb = zstdCompressSync(Buffer.alloc(200 * 1024 * 1024));
    const place = placeOf(Buffer.alloc(0), bomb, { size: 1000 });
    const before = process.memoryUsage().arrayBuffers;
    await expect(collect(unpack(place, inPieces(bomb)))).rejects.toThrow("more than the 1000 bytes");
    const streamed = { ...place, size: MAX_AT_ONCE_BYTES + 1 };
    await expect(collect(unpack(streamed, inPieces(bomb)))).rejects.toThrow(
      `more than the ${MAX_AT_ONCE_BYTES + 1} bytes`,
    );
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(50 * 1024 * 1024);
  });

  it("that asks for a window of 128 MiB is refused", async () => {
    const packer = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 27 } });
    packer.write(small);
    packer.end();
    const packed = await collect(packer);
    await expect(collect(unpack(placeOf(small, packed), inPieces(packed)))).rejects.toThrow("cannot be unpacked");
  });

  it("of zeros is nowhere", async () => {
    const place = placeOf(Buffer.alloc(200_000), Buffer.alloc(0), { compression: "zeros" });
    expect((await collect(unpack(place, inPieces(Buffer.alloc(0))))).equals(Buffer.alloc(200_000))).toBe(true);
  });

  it("passes on why it cannot be fetched", async () => {
    for (const content of [small, large]) {
      await expect(collect(unpack(placeOf(content, large), failing()))).rejects.toThrow("the link is down");
    }
  });
});
