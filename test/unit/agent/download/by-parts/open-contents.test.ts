import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { pack } from "tar-stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ImageContents } from "../../../../../src/agent/contents/device-contents.ts";
import { scanImage } from "../../../../../src/agent/contents/scan-image.ts";
import { HeldContents } from "../../../../../src/agent/download/by-parts/held-contents.ts";
import { contentDigest } from "../../../../../src/lib/layer-parts/content-digest.ts";
import type { Content, LayerLayout } from "../../../../../src/lib/layer-parts/layer-layout.ts";
import { randomBytes } from "../../../../support/layer-parts/tars.ts";
import { tempDir } from "../../../../support/temp-dir.ts";

const FILES = 200;
const files = Array.from({ length: FILES }, (_, number) => randomBytes(50_000, `file ${number}`));

let directory: Awaited<ReturnType<typeof tempDir>>;
beforeEach(async () => {
  directory = await tempDir();
});
afterEach(() => directory[Symbol.asyncDispose]());

function archive(): AsyncIterable<Uint8Array> {
  const tar = pack();
  for (const [number, content] of files.entries()) tar.entry({ name: `a/${number}` }, content);
  tar.finalize();
  return tar as AsyncIterable<Uint8Array>;
}

/** A layer that has these files of the image in this order. */
function layoutOf(order: readonly number[]): LayerLayout {
  const contents = order.map((number): Content => {
    const [bytes] = [files[number] ?? Buffer.alloc(0)];
    const part = { digest: contentDigest(bytes), size: bytes.length };
    const placed = { ...part, blob: "pack", offset: 0, length: 1, compression: "zstd" } as const;
    return { ...part, parts: [placed] };
  });
  return { contents: () => contents } as unknown as LayerLayout;
}

async function image(): Promise<ImageContents> {
  return { imageId: "sha256:old", contents: await scanImage(archive()) };
}

interface Passage {
  readonly exports: number;
  readonly isRight: boolean;
  readonly lost: readonly string[];
}

/** @param way how contents are read @param folder for what waits in a file */
async function pass(order: readonly number[], way: "whole" | "stream", folder: string): Promise<Passage> {
  const layout = layoutOf(order);
  let exports = 0;
  const lost: string[] = [];
  const held = new HeldContents(layout, [await image()]);
  const open = (): AsyncIterable<Uint8Array> => {
    exports++;
    return archive();
  };
  await using contents = held.open(open, folder, (_imageId, error) => lost.push(String(error)));
  let isRight = true;
  for (const [index, content] of [...layout.contents()].entries()) {
    const stream = way === "stream" ? contents.read(content, true) : undefined;
    const whole = stream ? await buffer(stream) : await contents.readWhole(content);
    isRight &&= Buffer.from(whole ?? []).equals(files[order[index] ?? -1] ?? Buffer.alloc(0));
  }
  return { exports, isRight, lost };
}

/** Nothing can wait in a file in a folder that does not exist. */
const nowhere = (): string => join(directory.path, "missing");

// eslint-disable-next-line require-yield -- it breaks off at once
async function* broken(): AsyncGenerator<Uint8Array> {
  throw new Error("the engine is gone");
}

const inOrder = files.map((_, number) => number);

describe.each(["whole", "stream"] as const)("the contents that a layer takes from an image, %s", (way) => {
  test("in the same order: the image is read once, and nothing waits on disk", async () => {
    expect(await pass(inOrder, way, nowhere())).toEqual({ exports: 1, isRight: true, lost: [] });
  });

  test("with a few that have moved far: these are read ahead, and nothing waits on disk", async () => {
    const moved = [...inOrder.slice(-5), ...inOrder.slice(0, -5), ...inOrder.slice(-5)];
    expect(await pass(moved, way, nowhere())).toEqual({ exports: 2, isRight: true, lost: [] });
  });

  test("with many that have moved far: they wait on disk", async () => {
    const half = [...inOrder.slice(FILES / 2), ...inOrder.slice(0, FILES / 2)];
    expect(await pass(half, way, directory.path)).toEqual({ exports: 1, isRight: true, lost: [] });
  });
});

test("a content that is read twice for a use waits on disk, and is the same both times", async () => {
  const layout = layoutOf([3, 1, 3]);
  await using contents = new HeldContents(layout, [await image()]).open(archive, directory.path, () => {});
  for (const [index, content] of [...layout.contents()].entries()) {
    for (const _ of ["to check", "to use"]) {
      const bytes = await buffer(contents.read(content, false) ?? archive());
      expect(bytes.equals(files[index === 1 ? 1 : 3] ?? Buffer.alloc(0))).toBe(true);
    }
  }
});

test("a content that is not read to its end leaves the next one as it is", async () => {
  const layout = layoutOf([0, 1]);
  await using contents = new HeldContents(layout, [await image()]).open(archive, nowhere(), () => {});
  const [first, second] = [...layout.contents()];
  if (!first || !second) throw new Error("the layer is empty");
  for await (const _ of contents.read(first, true) ?? []) break;
  expect(Buffer.from((await contents.readWhole(second)) ?? []).equals(files[1] ?? Buffer.alloc(0))).toBe(true);
});

test("an image that breaks off is lost, also while contents are read ahead", async () => {
  const moved = [...inOrder.slice(-5), ...inOrder.slice(0, -5)];
  const layout = layoutOf(moved);
  const held = new HeldContents(layout, [await image()]);
  const lost: string[] = [];
  await using contents = held.open(broken, directory.path, (imageId) => lost.push(imageId));
  const [first] = layout.contents();
  if (!first) throw new Error("the layer is empty");
  await expect(contents.readWhole(first)).rejects.toThrow("the engine is gone");
  expect(lost).toEqual(["sha256:old"]);
  expect(held.has(first)).toBe(false);
  expect(contents.readWhole(first)).toBeUndefined();
});
