import { randomBytes } from "node:crypto";
import { readdir } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { pack } from "tar-stream";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ImageReader } from "../../../../src/agent/contents/image-reader.ts";
import { scanImage } from "../../../../src/agent/contents/scan-image.ts";
import { Spool } from "../../../../src/agent/contents/spool.ts";
import { contentDigest } from "../../../../src/lib/layer-parts/content-digest.ts";
import { inPieces } from "../../../support/layer-parts/tars.ts";
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

/** In pieces of this size, each in the same memory: as if the stream's memory were used again. */
async function* inReusedMemory(size: number): AsyncGenerator<Uint8Array> {
  const memory = Buffer.alloc(size);
  for await (const chunk of archive()) {
    for (let at = 0; at < chunk.length; at += size) {
      const piece = chunk.subarray(at, at + size);
      memory.fill(0xff);
      memory.set(piece);
      yield memory.subarray(0, piece.length);
    }
  }
}

/** Keys of contents by the numbers of files; the key of a content is its number among `files`. */
function wantedOf(...keys: number[]): Int32Array {
  return Int32Array.from(files, (_, number) => (keys.includes(number) ? number : -1));
}

const once = (): number => 1;
const onlyTheLast = (key: number): number => (key === 5 ? 1 : 0);

async function* broken(): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const chunk of archive()) {
    bytes += chunk.length;
    yield chunk;
    if (bytes > 1_000_000) throw new Error("the engine is gone");
  }
}

describe("files of an image", () => {
  test.each([64 * 1024, 1_000, 511, 513, 7 * 512])(
    "are found by their contents, in pieces of %d bytes",
    async (size) => {
      const contents = await scanImage(inReusedMemory(size));
      expect(contents.length).toBe(files.length);
      for (const [number, digest] of digests.entries()) {
        const found = contents.find(digest);
        expect(found?.count).toBe(1);
        expect(contents.numberAt(found?.first ?? -1)).toBe(number);
      }
    },
  );

  test.each([
    ["in its order", [0, 1, 2, 3, 4, 5]],
    ["in the reverse order", [5, 4, 3, 2, 1, 0]],
    ["in any order, some of them not at all", [3, 0, 5]],
  ])("are read %s", async (_title, order) => {
    for (const memory of [0, 100_000, 10_000_000]) {
      for (const pieces of [1_000, 64 * 1024]) {
        for (const way of ["whole", "spooled"]) {
          await using spool = new Spool(directory.path, memory);
          const open = (): AsyncIterable<Uint8Array> => inReusedMemory(pieces);
          await using reader = new ImageReader({ open, wanted: wantedOf(...order), usesLeft: once, spool });
          for (const key of order) {
            if (way === "spooled") await reader.readTo(key);
            const inSpool = spool.has(key);
            const whole = inSpool ? undefined : (reader.wholeNow(key) ?? (await reader.whole(key)));
            const bytes = whole ?? (await buffer(spool.read(key)));
            expect(Buffer.from(bytes).equals(files[key] ?? Buffer.alloc(0))).toBe(true);
            expect(spool.has(key)).toBe(inSpool);
            await spool.forget(key);
            expect(spool.has(key)).toBe(false);
          }
          // What waits on disk has no name: nothing is left behind, whatever happens.
          expect(await readdir(directory.path)).toEqual([]);
        }
      }
    }
  });

  test("that are needed twice are in the spool after the first time", async () => {
    const memory = [0, 10_000_000];
    for (const bytes of memory) {
      await using spool = new Spool(directory.path, bytes);
      await using reader = new ImageReader({ open: archive, wanted: wantedOf(1, 2), usesLeft: () => 2, spool });
      const whole = reader.wholeNow(2) ?? (await reader.whole(2)) ?? (await buffer(spool.read(2)));
      expect(Buffer.from(whole).equals(files[2] ?? Buffer.alloc(0))).toBe(true);
      expect((await buffer(spool.read(2))).equals(files[2] ?? Buffer.alloc(0))).toBe(true);
      expect((await buffer(spool.read(1))).equals(files[1] ?? Buffer.alloc(0))).toBe(true);
    }
  });

  test("that several files have do not wait from the first to the last of them", async () => {
    const repeated = Buffer.alloc(1_000, "repeated");
    const open = (): AsyncIterable<Uint8Array> => {
      const tar = pack();
      for (const content of [repeated, files[2] ?? "", repeated]) tar.entry({ name: "a" }, Buffer.from(content));
      tar.finalize();
      return tar as AsyncIterable<Uint8Array>;
    };
    await using spool = new Spool(directory.path);
    await using reader = new ImageReader({ open, wanted: Int32Array.of(0, 1, 0), usesLeft: () => 2, spool });
    await reader.readTo(0);
    expect(reader.comesAgain(0)).toBe(true);
    await spool.forget(0);
    await reader.readTo(1);
    await reader.readTo(0);
    expect((await buffer(spool.read(0))).equals(repeated)).toBe(true);
    expect(reader.comesAgain(0)).toBe(false);
  });

  test("that are not needed are not kept", async () => {
    await using spool = new Spool(directory.path);
    await using reader = new ImageReader({
      open: archive,
      wanted: wantedOf(0, 1, 2, 3, 4, 5),
      usesLeft: onlyTheLast,
      spool,
    });
    await reader.readTo(5);
    expect([spool.has(0), spool.has(5)]).toEqual([false, true]);
  });

  test("that are gone by now are an error", async () => {
    await using spool = new Spool(directory.path);
    const wanted = Int32Array.of(-1, -1, -1, -1, -1, -1, -1, -1, -1, 0);
    await using reader = new ImageReader({ open: archive, wanted, usesLeft: once, spool });
    expect(reader.wholeNow(0)).toBeUndefined();
    await expect(reader.whole(0)).rejects.toThrow("does not have a content");
    await expect(reader.readTo(0)).rejects.toThrow("does not have a content");
  });

  test("of an archive that breaks off are an error", async () => {
    for (const read of ["whole", "readTo"] as const) {
      await using spool = new Spool(directory.path);
      await using reader = new ImageReader({ open: broken, wanted: wantedOf(5), usesLeft: once, spool });
      await expect(reader[read](5)).rejects.toThrow("the engine is gone");
    }
  });

  test("of an archive that is cut off are an error", async () => {
    const whole = await buffer(archive());
    const cut = whole.subarray(0, whole.length - 1_000_000);
    const open = (): AsyncIterable<Uint8Array> => inPieces(cut, [1_000]);
    for (const read of ["whole", "readTo"] as const) {
      await using spool = new Spool(directory.path);
      await using reader = new ImageReader({ open, wanted: wantedOf(5), usesLeft: once, spool });
      await expect(reader[read](5)).rejects.toThrow("cut off");
    }
    await expect(scanImage(open())).rejects.toThrow("cut off");
  });
});
