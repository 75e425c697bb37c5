import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { pack } from "tar-stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ImageReader } from "../../../../src/agent/contents/image-reader.ts";
import { scanImage } from "../../../../src/agent/contents/scan-image.ts";
import { Spool } from "../../../../src/agent/contents/spool.ts";
import { contentDigest } from "../../../../src/lib/layer-parts/content-digest.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const files = [10, 2_000_000, 300, 70_000, 1, 1_500_000].map((size) => randomBytes(size));
const digests = files.map((content) => contentDigest(content));

let directory: Awaited<ReturnType<typeof tempDir>>;
beforeEach(async () => {
  directory = await tempDir();
});
afterEach(() => directory[Symbol.asyncDispose]());

function archive(): AsyncIterable<Uint8Array> {
  const tar = pack();
  tar.entry({ name: "a/", type: "directory" });
  tar.entry({ name: "a/empty" }, "");
  for (const [index, content] of files.entries()) tar.entry({ name: `a/${index}` }, content);
  tar.entry({ name: "a/link", type: "symlink", linkname: "0" });
  tar.finalize();
  return tar as AsyncIterable<Uint8Array>;
}

async function* broken(): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of archive()) {
    bytes += chunk.length;
    yield chunk;
    if (bytes > 1_000_000) throw new Error("the engine is gone");
  }
}

describe("files of an image", () => {
  test("are found by their contents, numbered without those that have none", async () => {
    const contents = await scanImage(archive());
    expect(digests.map((digest) => contents.find(digest))).toEqual([[0], [1], [2], [3], [4], [5]]);
  });

  test.each([
    ["in its order", [0, 1, 2, 3, 4, 5]],
    ["in the reverse order", [5, 4, 3, 2, 1, 0]],
    ["in any order, some of them not at all", [3, 0, 5]],
  ])("are read %s", async (_title, order) => {
    for (const memory of [0, 100_000, 10_000_000]) {
      await using spool = new Spool(directory.path, memory);
      const wanted = new Map(order.map((number) => [number, digests[number] ?? ""]));
      await using reader = new ImageReader({ open: archive, wanted, isNeeded: () => true, spool });
      for (const number of order) {
        const digest = digests[number] ?? "";
        await reader.readTo(digest);
        expect((await buffer(spool.read(digest))).equals(files[number] ?? Buffer.alloc(0))).toBe(true);
        await spool.remove(digest);
        expect(spool.has(digest)).toBe(false);
      }
      // What waits on disk has no name: nothing is left behind, whatever happens.
      expect(await readdir(directory.path)).toEqual([]);
    }
  });

  test("that several files have do not wait from the first to the last of them", async () => {
    const repeated = Buffer.alloc(1_000, "repeated");
    const digest = contentDigest(repeated);
    const other = digests[2] ?? "";
    const open = (): AsyncIterable<Uint8Array> => {
      const tar = pack();
      for (const content of [repeated, files[2] ?? "", repeated]) tar.entry({ name: "a" }, Buffer.from(content));
      tar.finalize();
      return tar as AsyncIterable<Uint8Array>;
    };
    const wanted = new Map([
      [0, digest],
      [1, other],
      [2, digest],
    ]);
    await using spool = new Spool(directory.path);
    await using reader = new ImageReader({ open, wanted, isNeeded: () => true, spool });
    await reader.readTo(digest);
    expect(reader.comesAgain(digest)).toBe(true);
    await spool.remove(digest);
    await reader.readTo(other);
    await reader.readTo(digest);
    expect((await buffer(spool.read(digest))).equals(repeated)).toBe(true);
    expect(reader.comesAgain(digest)).toBe(false);
    await spool.remove(digest);
  });

  test("that are not needed are not kept", async () => {
    await using spool = new Spool(directory.path);
    const wanted = new Map(digests.map((digest, number) => [number, digest]));
    const [first = "", , , , , last = ""] = digests;
    await using reader = new ImageReader({ open: archive, wanted, isNeeded: (digest) => digest === last, spool });
    await reader.readTo(last);
    expect([spool.has(first), spool.has(last)]).toEqual([false, true]);
  });

  test("that are gone by now are an error", async () => {
    await using spool = new Spool(directory.path);
    await using reader = new ImageReader({
      open: archive,
      wanted: new Map([[9, "0".repeat(32)]]),
      isNeeded: () => true,
      spool,
    });
    await expect(reader.readTo("0".repeat(32))).rejects.toThrow("does not have a content");
  });

  test("of an archive that breaks off are an error", async () => {
    await using spool = new Spool(directory.path);
    const last = digests[5] ?? "";
    await using reader = new ImageReader({ open: broken, wanted: new Map([[5, last]]), isNeeded: () => true, spool });
    await expect(reader.readTo(last)).rejects.toThrow("the engine is gone");
  });
});
