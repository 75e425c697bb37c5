import { createHash } from "node:crypto";
import { gzipSync, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { contentDigest } from "../../../../../src/lib/layer-parts/content-digest.ts";
import { INDEX_MAGIC } from "../../../../../src/lib/layer-parts/layer-index/format.ts";
import type { ContentPart, PlacedBytes } from "../../../../../src/lib/layer-parts/layer-layout.ts";
import { MemoryDevice, type MemoryLayer } from "../../../../support/download/memory-device.ts";
import { type IndexedTar, indexTar } from "../../../../support/layer-parts/indexed-layer.ts";
import { diffIdOf, randomBytes, tarOf } from "../../../../support/layer-parts/tars.ts";
import { layoutOf, zstdChunkedBlob } from "../../../../support/layer-parts/zstd-chunked-blob.ts";
import { tempDir } from "../../../../support/temp-dir.ts";

/*
 * What wrong bytes of a registry, and tables that lie, cost in sum: with the whole layer that is fetched in the end.
 */

const SHARE = 0.02;
/** A piece of a body that has come before the one before it was looked at. */
const IN_FLIGHT = 3 * 16 * 1024;
const NEW_BYTES = 12_000;
const NEW_EVERY = 5;
const SAME = Array.from({ length: 200 }, (_, index) => ({
  name: `same-${index}`,
  content: randomBytes(20_000, `same ${index}`),
}));
const newContent = (version: number, index: number): Buffer => randomBytes(NEW_BYTES, `${version} ${index}`);
const versionOf = (version: number) =>
  tarOf(
    SAME.flatMap((file, index) =>
      index % NEW_EVERY === 0 ? [{ name: `new-${index}`, content: newContent(version, index) }, file] : [file],
    ),
  );
/** Files of which the registry has the first, one in the middle, and the last. */
const PLACES = { begin: 0, middle: 100, end: 195 } as const;
type Place = keyof typeof PLACES;

let [old, tar]: Buffer[] = [];
let index: IndexedTar;
let device: MemoryDevice;
let directory: Awaited<ReturnType<typeof tempDir>>;
beforeAll(async () => {
  [old, tar] = [await versionOf(1), await versionOf(2)];
  index = await indexTar(tar);
});
beforeEach(async () => {
  directory = await tempDir();
  device = new MemoryDevice({ directory: directory.path });
  device.images.set(`sha256:${"0".repeat(64)}`, old as Buffer);
});
afterEach(() => directory[Symbol.asyncDispose]());

const sha256 = (bytes: Uint8Array): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;

function partOf(contents: Iterable<{ readonly parts: readonly ContentPart[] }>, place: Place): PlacedBytes {
  const digest = contentDigest(newContent(2, PLACES[place]));
  for (const { parts } of contents) for (const part of parts) if (part.digest === digest) return part;
  throw new Error("the layer has no such part");
}

const gzip = (): MemoryLayer => ({ blob: gzipSync(tar as Buffer), diffId: diffIdOf(tar as Buffer) });

describe("with an index", () => {
  /** The part of the place, or the headers. */
  const placeOf = (place: Place | "headers"): PlacedBytes =>
    place === "headers" ? index.layout.headers : partOf(index.layout.contents(), place);

  test.each<[Place | "headers", number]>([
    ["headers", 0],
    ["begin", 0],
    ["middle", 1 / 2],
    ["end", 1],
  ])("bytes that are always wrong (%s) stop it there: the layer comes whole", async (place, fetchedBefore) => {
    const layer = gzip();
    const image = device.publish(layer);
    device.publishIndex(image, index);
    const price = await priceOf(image);
    const { offset, length } = placeOf(place);
    device.wrong.push({ digest: sha256(index.pack), at: offset + Math.floor(length / 2) });
    const { got, reason } = await device.downloadAnyway(image);
    expect(got.equals(layer.blob)).toBe(true);
    expect(reason).toMatchObject({ name: "PartsUnusable" });
    // What came before the wrong part is of no use, and is at most what the parts cost.
    const before = price * fetchedBefore + index.layout.headers.length;
    expect(device.received).toBeLessThan(layer.blob.length * (1 + SHARE) + before + IN_FLIGHT);
  });

  test.each<Place | "headers">(["headers", "begin", "middle", "end"])(
    "bytes that are wrong once (%s) are fetched again, and nothing else",
    async (place) => {
      const image = device.publish(gzip());
      device.publishIndex(image, index);
      const price = await priceOf(image);
      const { offset, length } = placeOf(place);
      device.wrong.push({ digest: sha256(index.pack), at: offset + Math.floor(length / 2), times: 1 });
      const { got, reason } = await device.downloadAnyway(image);
      expect(reason).toBeUndefined();
      expect(got.equals(tar as Buffer)).toBe(true);
      expect(device.received).toBeLessThan(price + index.index.length + length + IN_FLIGHT);
    },
  );

  test("a pack of another layer costs its first part: the layer comes whole", async () => {
    const layer = gzip();
    const image = device.publish(layer);
    device.publishIndex(image, { index: index.index, pack: randomBytes(index.pack.length, "other") });
    const { got } = await device.downloadAnyway(image);
    expect(got.equals(layer.blob)).toBe(true);
    expect(device.received).toBeLessThan(layer.blob.length * (1 + SHARE) + index.layout.headers.length + IN_FLIGHT);
  });

  test("an index whose parts are right and make up another layer: nothing is fetched twice", async () => {
    const other = await indexTar(await versionOf(3));
    const table = zstdDecompressSync(other.index.subarray(INDEX_MAGIC.length));
    table.set(Buffer.from(diffIdOf(tar as Buffer).slice("sha256:".length), "hex"), 0);
    const layer = gzip();
    const image = device.publish(layer);
    const lying = Buffer.concat([INDEX_MAGIC, zstdCompressSync(table)]);
    device.publishIndex(image, { index: lying, pack: other.pack });
    const price = await priceOf(image);
    const { got, reason } = await device.downloadAnyway(image);
    expect(got.equals(layer.blob)).toBe(true);
    expect(reason).toMatchObject({ name: "PartsUnusable", message: expect.stringContaining("digest") });
    expect(device.received).toBe(layer.blob.length + lying.length + price);
  });

  test.each<[Place, number]>([
    ["begin", 0],
    ["middle", 1 / 2],
    ["end", 1],
  ])("an index that lies about a digest (%s): the layer comes whole", async (place, fetchedBefore) => {
    const table = zstdDecompressSync(index.index.subarray(INDEX_MAGIC.length));
    const digest = Buffer.from(placeOf(place).digest, "hex");
    const at = table.indexOf(digest);
    expect(at).toBeGreaterThan(0);
    table.set(Buffer.alloc(digest.length, 1), at);
    const layer = gzip();
    const image = device.publish(layer);
    device.publishIndex(image, { ...index, index: Buffer.concat([INDEX_MAGIC, zstdCompressSync(table)]) });
    const price = await priceOf(image);
    const { got } = await device.downloadAnyway(image);
    expect(got.equals(layer.blob)).toBe(true);
    const before = price * fetchedBefore + index.layout.headers.length;
    expect(device.received).toBeLessThan(layer.blob.length * (1 + SHARE) + before + IN_FLIGHT);
  });
});

describe("with zstd:chunked", () => {
  const mediaType = "application/vnd.oci.image.layer.v1.tar+zstd";
  const lyingAbout = (place: Place): MemoryLayer => {
    const digest = sha256(newContent(2, PLACES[place]));
    const entries = (honest: Record<string, unknown>[]): Record<string, unknown>[] =>
      honest.map((entry) => (entry["digest"] === digest ? { ...entry, digest: `sha256:${"1".repeat(64)}` } : entry));
    return { ...zstdChunkedBlob(tar as Buffer, { entries }), mediaType };
  };

  test.each<Place>(["begin", "middle", "end"])(
    "a table that lies about a digest (%s) costs no more than the whole: it stops there, and what came counts",
    async (place) => {
      const layer = lyingAbout(place);
      const { got, reason } = await device.downloadAnyway(device.publish(layer));
      expect(got.equals(layer.blob)).toBe(true);
      expect(reason).toMatchObject({ name: "PartsUnusable" });
      expect(device.received).toBeLessThan(layer.blob.length * (1 + SHARE));
    },
  );

  test.each<[Place, number]>([
    ["begin", 1],
    ["middle", 1],
    ["end", 1],
    ["begin", 2],
    ["middle", 2],
    ["end", 2],
  ])("bytes that are wrong (%s, %i times) are fetched again, and nothing else", async (place, times) => {
    const written = zstdChunkedBlob(tar as Buffer);
    const { offset, length } = partOf((await layoutOf(written)).contents(), place);
    const image = device.publish({ ...written, mediaType });
    const price = await priceOf(image);
    device.wrong.push({ digest: sha256(written.blob), at: offset + Math.floor(length / 2), times });
    const { got, reason } = await device.downloadAnyway(image);
    if (times === 1) expect(reason).toBeUndefined();
    expect(got.equals(times === 1 ? (tar as Buffer) : written.blob)).toBe(true);
    const sum = times === 1 ? price + written.blob.length * SHARE : written.blob.length;
    expect(device.received).toBeLessThan(sum + times * length + IN_FLIGHT);
  });

  test("tables that are wrong once are fetched again, and nothing else", async () => {
    const written = zstdChunkedBlob(tar as Buffer);
    const image = device.publish({ ...written, mediaType });
    const [, toc = 0] = /^(\d+)/.exec(Object.values(written.annotations)[1] ?? "") ?? [];
    device.wrong.push({ digest: sha256(written.blob), at: Number(toc) + 100, times: 1 });
    const { got } = await device.downloadAnyway(image);
    expect(got.equals(written.blob)).toBe(true);
    const tables = written.blob.length - Number(toc);
    expect(device.received).toBeLessThan(written.blob.length + tables + IN_FLIGHT);
  });
});

/** Bytes that the plan of the image's layer fetches, beside descriptions. */
async function priceOf(image: Parameters<MemoryDevice["plan"]>[0]): Promise<number> {
  await using apart = await tempDir();
  const other = new MemoryDevice({ directory: apart.path });
  other.images.set(`sha256:${"0".repeat(64)}`, old as Buffer);
  other.shareBlobs(device);
  await using plan = await other.plan(image);
  return [...plan.layers.values()][0]?.progress.size ?? Infinity;
}
