import { createHash, randomBytes } from "node:crypto";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Part } from "../../../../src/agent/download/part.ts";
import { FRAME_BYTES, FRAME_DATA_BYTES } from "../../../../src/agent/download/part-format.ts";
import { tempDir } from "../../../support/temp-dir.ts";

let folder: Awaited<ReturnType<typeof tempDir>>;
let files = 0;
beforeEach(async () => void (folder = await tempDir()));
afterEach(() => folder[Symbol.asyncDispose]());

const digestOf = (bytes: Buffer): string => `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
const freshPath = (): string => join(folder.path, `${++files}.part`);
const open = (bytes: Buffer, path: string): Promise<Part> => {
  return Part.open({ digest: digestOf(bytes), size: bytes.length }, folder.path, path);
};

/** Reads all readable bytes from a position. */
async function readAll(part: Part, from = 0): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = from; ;) {
    const read = await part.read(at, part.blob.size, Buffer.alloc(2 * FRAME_BYTES));
    if (read.length === 0) return Buffer.concat(pieces);
    pieces.push(...read);
    for (const { length } of read) at += length;
  }
}

/** Reads from a byte to the end of the blob, waiting for more. */
async function follow(part: Part, from: number, buffer: Buffer): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = from; at < part.blob.size;) {
    const { changed } = part;
    const read = await part.read(at, part.blob.size, buffer);
    pieces.push(...read.map((piece) => Buffer.from(piece)));
    for (const { length } of read) at += length;
    if (read.length === 0) await changed;
  }
  return Buffer.concat(pieces);
}

describe("a part", () => {
  test("returns the appended bytes, in pieces of any size, from any position", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 3 * FRAME_DATA_BYTES }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.nat(), async (lengths, from) => {
        const bytes = randomBytes(lengths.reduce((sum, length) => sum + length, 0));
        await using part = await open(bytes, freshPath());
        let at = 0;
        for (const length of lengths) {
          expect(part.verify()).toBe(false);
          await part.append(bytes.subarray(at, at + length));
          at += length;
        }
        expect(part.verify()).toBe(true);
        const start = from % bytes.length;
        expect((await readAll(part, start)).equals(bytes.subarray(start))).toBe(true);
      }),
      { numRuns: 30 },
    );
  });

  test("does not serve its last byte before verification", async () => {
    const bytes = randomBytes(100_000);
    await using part = await open(bytes, freshPath());
    await part.append(bytes);
    expect((await readAll(part)).length).toBe(bytes.length - 1);
    part.verify();
    expect((await readAll(part)).length).toBe(bytes.length);
  });

  test("serves bytes that are still being written, to fast and to slow readers", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: 3 * FRAME_DATA_BYTES }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(
        sizes,
        fc.integer({ min: FRAME_BYTES, max: 4 * FRAME_BYTES }),
        fc.nat(),
        async (lengths, room, from) => {
          const bytes = randomBytes(lengths.reduce((sum, length) => sum + length, 0));
          await using part = await open(bytes, freshPath());
          const start = from % bytes.length;
          const following = follow(part, start, Buffer.alloc(room));
          let at = 0;
          for (const length of lengths) {
            const appended = part.append(bytes.subarray(at, at + length));
            at += length;
            expect(part.readableBytes).toBe(Math.min(at, bytes.length - 1));
            await appended;
          }
          part.verify();
          expect((await following).equals(bytes.subarray(start))).toBe(true);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("is empty after wrong bytes were discarded", async () => {
    const bytes = randomBytes(100_000);
    await using part = await open(bytes, freshPath());
    await part.append(Buffer.alloc(bytes.length));
    expect(part.verify()).toBe(false);
    await part.discard();
    await part.append(bytes);
    expect(part.verify()).toBe(true);
  });

  test("notifies when it grows", async () => {
    const bytes = randomBytes(10);
    await using part = await open(bytes, freshPath());
    const { changed } = part;
    await part.append(bytes);
    await changed;
  });

  test("rejects more bytes than the blob has", async () => {
    const bytes = randomBytes(10);
    await using part = await open(bytes, freshPath());
    await expect(part.append(Buffer.alloc(11))).rejects.toThrow(RangeError);
  });

  test("of an empty blob is complete from the beginning", async () => {
    await using part = await open(Buffer.alloc(0), freshPath());
    expect(part.verify()).toBe(true);
  });
});

describe("a part after a crash", () => {
  const bytes = randomBytes(5 * FRAME_DATA_BYTES + 1234);
  const written = async (length: number): Promise<string> => {
    const path = freshPath();
    await using part = await open(bytes, path);
    await part.append(bytes.subarray(0, length));
    return path;
  };

  test.each([0, 1, FRAME_DATA_BYTES - 1, FRAME_DATA_BYTES, 2 * FRAME_DATA_BYTES + 5, 5 * FRAME_DATA_BYTES])(
    "has every full frame of %i bytes, and goes on from there",
    async (length) => {
      await using part = await open(bytes, await written(length));
      expect(part.size).toBe(Math.floor(length / FRAME_DATA_BYTES) * FRAME_DATA_BYTES);
      expect(length - part.size).toBeLessThan(64 * 1024);
      await part.append(bytes.subarray(part.size));
      expect(part.verify()).toBe(true);
      expect((await readAll(part)).equals(bytes)).toBe(true);
    },
  );

  test("that was complete stays complete, without the network", async () => {
    await using part = await open(bytes, await written(bytes.length));
    expect(part.isVerified).toBe(true);
    expect((await readAll(part)).equals(bytes)).toBe(true);
  });

  test("keeps nothing after the first changed byte, and never accepts a wrong one", async () => {
    const path = await written(bytes.length);
    const whole = await readFile(path);
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(whole.length), async (place, length) => {
        const damaged = Buffer.from(whole.subarray(0, Math.max(length, place + 1)));
        damaged[place] = (damaged[place] ?? 0) ^ 1;
        await writeFile(path, damaged);
        await using part = await open(bytes, path);
        expect(part.isVerified).toBe(false);
        expect(part.size).toBe(Math.floor(place / FRAME_BYTES) * FRAME_DATA_BYTES);
        await part.append(bytes.subarray(part.size));
        expect(part.verify()).toBe(true);
      }),
      { numRuns: 40 },
    );
  });

  test("keeps nothing that the file system returned as zeros", async () => {
    const path = await written(3 * FRAME_DATA_BYTES);
    await writeFile(path, Buffer.alloc((await stat(path)).size));
    await using part = await open(bytes, path);
    expect(part.size).toBe(0);
  });

  test("keeps nothing of a file longer than the blob", async () => {
    const path = await written(bytes.length);
    await using whole = await open(bytes, path);
    const { digest } = whole.blob;
    await using part = await Part.open({ digest, size: FRAME_DATA_BYTES }, folder.path, path);
    expect(part.size).toBe(FRAME_DATA_BYTES);
    expect(part.verify()).toBe(false);
  });
});
