import { gzipSync, zstdCompressSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ResolvedImage } from "../../../../../src/agent/registry/registry.ts";
import { MemoryDevice } from "../../../../support/download/memory-device.ts";
import { layerFixture } from "../../../../support/layer-parts/fixture.ts";
import { indexTar } from "../../../../support/layer-parts/indexed-layer.ts";
import { diffIdOf, randomBytes, tarOf } from "../../../../support/layer-parts/tars.ts";
import { zstdChunkedBlob } from "../../../../support/layer-parts/zstd-chunked-blob.ts";
import { tempDir } from "../../../../support/temp-dir.ts";

/** As skopeo 1.9 and Podman 4.3 describe a layer: without tar-split data. */
const { annotations: OLD_ANNOTATIONS } = layerFixture("skopeo-1.9");
const ZSTD = "application/vnd.oci.image.layer.v1.tar+zstd";
const SAME = Array.from({ length: 40 }, (_, index) => ({
  name: `same-${index}`,
  content: randomBytes(20_000, `same ${index}`),
}));
const versionOf = (version: number) =>
  tarOf([...SAME, { name: "changed", content: randomBytes(5_000, `version ${version}`) }]);

let directory: Awaited<ReturnType<typeof tempDir>>;
let device: MemoryDevice;
let tar: Buffer;
beforeEach(async () => {
  directory = await tempDir();
  device = new MemoryDevice({ directory: directory.path });
  device.images.set("sha256:old", await versionOf(1));
  tar = await versionOf(2);
});
afterEach(() => directory[Symbol.asyncDispose]());

const publishOld = (): ResolvedImage =>
  device.publish({
    blob: zstdCompressSync(tar),
    diffId: diffIdOf(tar),
    mediaType: ZSTD,
    annotations: OLD_ANNOTATIONS,
  });

describe("a zstd:chunked layer without tar-split data", () => {
  test("is put together by an index beside the image", async () => {
    const image = publishOld();
    device.publishIndex(image, await indexTar(tar));
    const reasons: string[] = [];
    {
      await using plan = await device.plan(image, (reason) => reasons.push(reason));
      expect(reasons).toEqual([]);
      expect([...plan.layers.keys()]).toEqual([image.layers[0]?.digest]);
    }
    expect(tar.equals(await device.download(image))).toBe(true);
    expect(device.received).toBeLessThan(tar.length / 20);
  });

  test("is downloaded whole without one, and the reason is said", async () => {
    const image = publishOld();
    const reasons: string[] = [];
    await using plan = await device.plan(image, (reason) => reasons.push(reason));
    expect([...plan.layers]).toEqual([]);
    expect(reasons).toEqual([expect.stringContaining("without tar-split data")]);
    expect(device.received).toBe(0);
  });

  test("is put together by an index for an engine that cannot read zstd, also where nothing is saved", async () => {
    device.images.set("sha256:old", await tarOf([{ name: "other", content: randomBytes(10, "other") }]));
    const image = publishOld();
    device.publishIndex(image, await indexTar(tar));
    {
      await using plan = await device.plan(image, undefined, false);
      expect([...plan.layers.values()].map(({ progress }) => progress.size)).toEqual([expect.closeTo(tar.length, -5)]);
    }
  });
});

/** A layer with a table of contents of an unknown version. */
const lying = () => zstdChunkedBlob(tar, { toc: (toc) => ({ ...toc, version: 2 }) });

/** Says of both tables that they unpack to so many bytes. */
const claim = (size: number) => (annotations: Record<string, string>) =>
  Object.fromEntries(
    Object.entries(annotations).map(([name, place]) => [name, place.replace(/^(\d+:\d+):\d+/, `$1:${size}`)]),
  );

describe("an image of layers with large tables", () => {
  test("has no more of them unpacked than all its layers together may have", async () => {
    const written = zstdChunkedBlob(tar, { annotations: claim(60 * 1024 * 1024) });
    const image = device.publish({ ...written, mediaType: ZSTD });
    const [layer] = image.layers;
    if (!layer) throw new Error("no layer");
    const three = { ...image, layers: [layer, layer, layer], diffIds: [1, 2, 3].map(() => written.diffId) };
    const reasons: string[] = [];
    await using plan = await device.plan(three, (reason) => reasons.push(reason));
    expect([...plan.layers]).toEqual([]);
    const unread = expect.stringMatching(/unpacks to 62914560 bytes, more than 16777216$/) as string;
    const read = expect.stringMatching(/unpacks to \d+ bytes and should have 62914560$/) as string;
    expect(reasons).toEqual([read, read, unread]);
  });
});

describe("a zstd:chunked layer whose table of contents lies", () => {
  test("is put together by an index beside the image", async () => {
    const image = device.publish({ ...lying(), mediaType: ZSTD });
    device.publishIndex(image, await indexTar(tar));
    expect(tar.equals(await device.download(image))).toBe(true);
    expect(device.received).toBeLessThan(tar.length / 20);
  });

  test("costs no more than the layer: what was read of it is used", async () => {
    const { blob, annotations, diffId } = lying();
    const image = device.publish({ blob, annotations, diffId, mediaType: ZSTD });
    const reasons: string[] = [];
    // Its price, and the download, which plans again.
    for (const _ of [1, 2]) {
      await using plan = await device.plan(image, (reason) => reasons.push(reason));
      expect([...plan.layers]).toEqual([]);
    }
    expect(reasons).toEqual(Array(2).fill("the table of contents has an unknown version"));
    expect(blob.equals(await device.download(image))).toBe(true);
    expect(device.received).toBe(blob.length);
  });
});

test("the images that a plan takes contents from are in use until it is disposed of", async () => {
  device.images.set("sha256:other", await tarOf([{ name: "other", content: randomBytes(10, "other") }]));
  const image = device.publish({ blob: gzipSync(tar), diffId: diffIdOf(tar) });
  device.publishIndex(image, await indexTar(tar));
  {
    await using plan = await device.plan(image);
    expect(plan.layers.size).toBe(1);
    expect(["sha256:old", "sha256:other"].map((id) => device.inUse.has(id))).toEqual([true, false]);
  }
  expect(device.inUse.has("sha256:old")).toBe(false);
});

test("an ordinary layer says no reason: nothing describes it", async () => {
  const image = device.publish({ blob: gzipSync(tar), diffId: diffIdOf(tar) });
  await using plan = await device.plan(image, () => expect.unreachable());
  expect([...plan.layers]).toEqual([]);
});
