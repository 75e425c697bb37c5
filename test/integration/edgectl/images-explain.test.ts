import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { UpdateCost } from "../../../src/edgectl/images/explain-update.ts";
import { type EdgectlUser, edgectlUser } from "../../support/edgectl/process.ts";
import { buildImage, fileLayer, type Image, type Layer, sha256 } from "../../support/images/image.ts";
import { versionedImage } from "../../support/images/versioned-image.ts";
import { zstdChunkedBlob } from "../../support/layer-parts/zstd-chunked-blob.ts";
import { randomBytes } from "../../support/layer-parts/tars.ts";
import { Registry } from "../../support/registry.ts";

const ENV = { DOCKER_CONFIG: "/nonexistent" };
const FILES = 600;

let user: EdgectlUser;
let registry: Registry;
const images: Image[] = [];
const references: string[] = [];

beforeAll(async () => {
  user = await edgectlUser();
  registry = await Registry.start();
  for (const version of [1, 2]) {
    const image = await versionedImage({ seed: "images-explain", version, files: FILES });
    images.push(image);
    references.push(await registry.push(image, `team/app:${version}`));
  }
});
afterAll(async () => {
  await registry[Symbol.asyncDispose]();
  await user[Symbol.asyncDispose]();
});

async function explain(old: string, next: string): Promise<UpdateCost> {
  const { code, stdout, stderr } = await user.run(["--json", "images", "explain", old, next], { env: ENV });
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as UpdateCost;
}

describe("edgectl images explain", () => {
  test("names the files that are fetched, the largest first, with and without an index", async () => {
    const [old = "", next = ""] = references;
    const before = await explain(old, next);
    expect(before.is_indexed).toBe(false);
    expect(before.layers.map(({ by, source }) => [by, source])).toEqual([
      ["here", null],
      ["parts", "computed"],
    ]);
    const layer = before.layers[1];
    expect(layer?.fetched.map(({ path }) => path).toSorted()).toEqual([
      "app/00000.js",
      "app/00200.js",
      "app/00400.js",
      "app/new-2",
    ]);
    const costs = layer?.fetched.map((file) => file.parts_bytes ?? 0) ?? [];
    expect(costs).toEqual(costs.toSorted((one, other) => other - one));
    expect(before.whole_bytes).toBe(images[1]?.layers[1]?.compressed.length);
    expect(before.parts_bytes).toBeLessThan(before.whole_bytes / 15);
    expect(before.parts_bytes).toBeGreaterThanOrEqual(
      (layer?.table_bytes ?? 0) + costs.reduce((sum, bytes) => sum + bytes, 0),
    );
    expect((await user.run(["images", "index", next], { env: ENV })).code).toBe(0);
    const after = await explain(old, next);
    expect(after).toEqual({ ...before, is_indexed: true, layers: [before.layers[0], { ...layer, source: "index" }] });
    const { stdout } = await user.run(["images", "explain", old, next], { env: ENV });
    expect(stdout).toMatch(/by parts, .* with whole layers, \d+\.\d times less/);
    expect(stdout).toMatch(/3\.\d+ kB +app\/00000\.js/);
    expect(stdout).not.toContain("has no index");
  });

  test("the same image costs nothing, and another one no more than its whole layers", async () => {
    const [old = ""] = references;
    expect(await explain(old, old)).toMatchObject({ whole_bytes: 0, parts_bytes: 0, advice: [] });
    const other = await versionedImage({ seed: "images-explain-other", version: 1, files: 1 });
    const cost = await explain(old, await registry.push(other, "team/other:1"));
    expect(cost.layers[0]).toMatchObject({ by: "whole", files: 1, files_here: 0 });
    expect(cost.parts_bytes).toBeLessThanOrEqual(cost.whole_bytes);
    expect(cost.parts_bytes).toBeGreaterThan(cost.whole_bytes * 0.99);
  });

  test("says when a layer was built again and only its times are new", async () => {
    const files = Array.from({ length: 40 }, (_, index) => {
      return { path: `app/${index}.js`, content: randomBytes(1_500, `explain ${index}`) };
    });
    const built = async (day: number): Promise<string> => {
      const layer = await fileLayer(files, new Date(day * 86_400_000));
      return await registry.push(buildImage([layer], {}), `team/times:${day}`);
    };
    const { advice, layers } = await explain(await built(1), await built(2));
    expect(layers).toMatchObject([{ files: 40, files_here: 40, fetched: [] }]);
    expect(advice).toEqual([expect.stringContaining("has the same contents as before in all 40 files")]);
  });

  test("reads the tables of zstd:chunked layers", async () => {
    const [, second] = images as [Image, Image];
    const [base, own] = second.layers as readonly [Layer, Layer];
    const { blob, annotations } = zstdChunkedBlob(own.tar);
    const mediaType = "application/vnd.oci.image.layer.v1.tar+zstd";
    const chunked = { ...own, compressed: blob, digest: sha256(blob), mediaType, annotations };
    const gzipBase = { ...base, mediaType: "application/vnd.oci.image.layer.v1.tar+gzip" };
    const next = await registry.push(buildImage([gzipBase, chunked], {}), "team/app:chunked");
    const cost = await explain(references[0] ?? "", next);
    expect(cost).toMatchObject({ is_indexed: true, layers: [{ by: "here" }, { by: "parts", source: "zstd:chunked" }] });
    expect(cost.parts_bytes).toBeLessThan(cost.whole_bytes / 10);
  });
});
