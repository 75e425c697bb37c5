import { describe, expect, it } from "vitest";
import { LayoutError } from "../../../../../src/lib/layer-parts/layer-layout.ts";
import { LAYOUT_LIMITS } from "../../../../../src/lib/layer-parts/limits.ts";
import { rebuildLayer } from "../../../../../src/lib/layer-parts/rebuild.ts";
import { MemorySource } from "../../../../support/layer-parts/memory-source.ts";
import { collect, tarOf } from "../../../../support/layer-parts/tars.ts";
import { layoutOf, zstdChunkedBlob, type ZstdChunkedLies } from "../../../../support/layer-parts/zstd-chunked-blob.ts";

const change = (index: number, fields: object) => (entries: object[]) =>
  entries.map((entry, at) => (at === index ? { ...entry, ...fields } : entry));
const position = (name: string, value: string) => (annotations: Record<string, string>) => ({
  ...annotations,
  [`io.github.containers.zstd-chunked.${name}-position`]: value,
});

describe("a table of contents that lies", () => {
  const tar = tarOf([
    { name: "a", content: Buffer.alloc(3000, "a") },
    { name: "b", content: Buffer.alloc(2000, "b") },
  ]);

  it.each<[string, ZstdChunkedLies, string]>([
    ["of a size", { entries: change(0, { size: 4000 }) }, "differ"],
    ["of a size that is no number", { entries: change(0, { size: "3000" }) }, "the size of a file is not"],
    ["of a size beyond all bounds", { entries: change(0, { size: 2 ** 60 }) }, "the size of a file is not"],
    ["of a negative offset", { entries: change(0, { offset: -1 }) }, "an offset in the layer's blob is not"],
    [
      "of an offset beyond the contents",
      { entries: change(1, { endOffset: 1e9 }) },
      "an offset in the layer's blob is not",
    ],
    ["of overlapping parts", { entries: change(1, { offset: 0 }) }, "overlap or are out of order"],
    ["of a part that ends before it begins", { entries: change(0, { endOffset: 0 }) }, "overlap or are out of order"],
    ["of a digest of another kind", { entries: change(0, { digest: "md5:0" }) }, "a digest is not a SHA-256"],
    ["of a path out of the tree", { entries: change(0, { name: "a/../../b" }) }, "a path with .."],
    ["of a path that is none", { entries: change(0, { name: 1 }) }, "has no name"],
    ["of a chunk of nothing", { entries: (all) => [{ type: "chunk" }, ...all] }, "a chunk that belongs to no file"],
    ["of a chunk elsewhere", { chunkBytes: 1000, entries: change(1, { chunkOffset: 999 }) }, "leave a gap or overlap"],
    [
      "of chunks that are too small",
      { chunkBytes: 1000, entries: change(2, { chunkSize: 1 }) },
      "smaller than the file",
    ],
    [
      "of chunks that are too large",
      { chunkBytes: 1000, entries: change(2, { chunkSize: 9000 }) },
      "larger than the file",
    ],
    ["of a file that is not in the tar", { entries: (all) => [...all, all[0]] }, "overlap or are out of order"],
    ["of a file less", { entries: (all) => all.slice(1) }, "differ"],
    ["with an entry that is no object", { entries: () => [1] }, "is no object"],
    ["of a version", { toc: (toc) => ({ ...toc, version: 2 }) }, "an unknown version"],
    [
      "of the tar-split data",
      { toc: (toc) => ({ ...toc, tarSplitDigest: `sha256:${"0".repeat(64)}` }) },
      "does not have its digest",
    ],
    [
      "and has no digest of the tar-split data",
      { toc: () => ({ version: 1, entries: [] }) },
      "no digest of the tar-split",
    ],
    ["and is cut off", { tocBytes: (bytes) => bytes.subarray(0, -1) }, "not valid JSON"],
    ["and goes on", { tocBytes: (bytes) => Buffer.concat([bytes, Buffer.from("}")]) }, "not valid JSON"],
    ["with a line that is no object", { tarSplit: (lines) => ["1\n", ...lines] }, "not a JSON object"],
    [
      "with a line that has more values than any",
      { tarSplit: (lines) => [`{"type":1,"x":[${"{},".repeat(100)}{}]}\n`, ...lines] },
      "a line of the tar-split data has more than 100 values",
    ],
    [
      "with an entry that has more values than any",
      { entries: (entries) => [{ type: "dir", name: "a", x: Array.from({ length: 2001 }, () => ({})) }, ...entries] },
      "a value in the table of contents has more than 2000 values",
    ],
    [
      "with a chunk that is an object where a number belongs",
      { chunkBytes: 100, entries: (entries) => entries.map((entry) => ({ ...entry, chunkOffset: {} })) },
      "leave a gap or overlap",
    ],
    ["with an entry of another type", { tarSplit: (lines) => ['{"type":3}\n', ...lines] }, "is unknown"],
    ["of a place that is not made of numbers", { annotations: position("manifest", "a:b:c:1") }, "not made of numbers"],
    [
      "of a place outside of the blob",
      { annotations: position("tarsplit", "900000:10:10") },
      "outside of the layer's blob",
    ],
    ["of tables that overlap", { annotations: position("tarsplit", "0:10:10") }, "overlap"],
    [
      "of a table that unpacks to a gigabyte",
      { annotations: position("manifest", "0:9:1000000000:1") },
      "unpacks to 1000000000 bytes",
    ],
  ])("%s is refused", async (_name, lies, reason) => {
    const lying = zstdChunkedBlob(await tar, lies);
    const refusal = await refusalOf(() => layoutOf(lying));
    expect(refusal).toBeInstanceOf(LayoutError);
    expect(refusal?.message).toContain(reason);
  });

  it("of a digest costs nothing but the layer: the rebuild ends with an error before its last bytes", async () => {
    const lying = zstdChunkedBlob(await tar, { entries: change(0, { digest: `sha256:${"1".repeat(64)}` }) });
    const layout = await layoutOf(lying);
    await expect(collect(rebuildLayer(layout, new MemorySource({ layer: lying.blob })))).rejects.toThrow(LayoutError);
  });

  it("of the diff id is found before the last bytes are given away", async () => {
    const lying = { ...zstdChunkedBlob(await tar), diffId: `sha256:${"2".repeat(64)}` };
    const layout = await layoutOf(lying);
    const got: Uint8Array[] = [];
    const rebuild = async (): Promise<void> => {
      for await (const bytes of rebuildLayer(layout, new MemorySource({ layer: lying.blob }))) got.push(bytes);
    };
    await expect(rebuild()).rejects.toThrow("instead of");
    expect(Buffer.concat(got).length).toBeLessThan(layout.size);
  });

  it("is read no further than the bytes it says it has", async () => {
    const bomb = zstdChunkedBlob(await tar, {
      tocBytes: (bytes) => Buffer.concat([bytes, Buffer.alloc(50_000_000, " ")]),
    });
    const [offset, length] = bomb.annotations["io.github.containers.zstd-chunked.manifest-position"]?.split(":") ?? [];
    const annotations = position("manifest", `${offset}:${length}:1000:1`)(bomb.annotations);
    await expect(layoutOf({ ...bomb, annotations })).rejects.toThrow("unpacks to more than the 1000 bytes");
  });

  it("with a million entries is read up to the limit", async () => {
    const many = zstdChunkedBlob(await tar, {
      entries: () => Array.from({ length: 5001 }, () => ({ type: "dir", name: "a" })),
    });
    await expect(layoutOf(many, { ...LAYOUT_LIMITS, maxEntries: 5000 })).rejects.toThrow("more than 5000 entries");
    const elsewhere = zstdChunkedBlob(await tar, {
      toc: (toc) => ({ more: Array.from({ length: 5001 }, () => 1), ...toc }),
    });
    await expect(layoutOf(elsewhere, { ...LAYOUT_LIMITS, maxEntries: 5000 })).rejects.toThrow("more than 5000 entries");
  });
});

async function refusalOf(read: () => Promise<unknown>): Promise<Error | undefined> {
  try {
    await read();
  } catch (error) {
    return error as Error;
  }
  return undefined;
}
