import { randomBytes } from "node:crypto";
import { readFile, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { RangePart } from "../../../../src/agent/download/range-part.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const BLOB = { digest: `sha256:${"a".repeat(64)}`, size: 400_000 };
const content = randomBytes(BLOB.size);

let directory: Awaited<ReturnType<typeof tempDir>>;
const path = (): string => join(directory.path, "blob.ranges");
const open = (): Promise<RangePart> => RangePart.open(BLOB, directory.path, path());
const append = (part: RangePart, offset: number, length: number): Promise<void> =>
  part.append(offset, content.subarray(offset, offset + length));

beforeEach(async () => {
  directory = await tempDir();
});
afterEach(() => directory[Symbol.asyncDispose]());

describe("ranges of a blob on disk", () => {
  test("come in any order, and are there after a restart", async () => {
    {
      await using part = await open();
      await append(part, 200_000, 100_000);
      await append(part, 10, 5);
    }
    await using part = await open();
    expect(
      part.missing([
        { offset: 0, length: 20 },
        { offset: 250_000, length: 60_000 },
      ]),
    ).toEqual([
      { offset: 0, length: 10 },
      { offset: 15, length: 5 },
      { offset: 300_000, length: 10_000 },
    ]);
    expect(await buffer(part.read({ offset: 210_000, length: 80_000 }))).toEqual(content.subarray(210_000, 290_000));
  });

  test("reads over ranges that came apart, and fails for one that is missing", async () => {
    await using part = await open();
    await append(part, 1_000, 500);
    await append(part, 500, 500);
    expect(await buffer(part.read({ offset: 700, length: 600 }))).toEqual(content.subarray(700, 1_300));
    await expect(buffer(part.read({ offset: 1_400, length: 200 }))).rejects.toThrow(RangeError);
  });

  test("a range whose bytes are wrong is forgotten, also after a restart", async () => {
    {
      await using part = await open();
      await append(part, 0, 200_000);
      await part.drop({ offset: 70_000, length: 10 });
      expect(part.missing([{ offset: 0, length: 200_000 }])).toEqual([{ offset: 70_000, length: 10 }]);
      expect([part.has({ offset: 0, length: 70_000 }), part.has({ offset: 0, length: 70_001 })]).toEqual([true, false]);
    }
    await using part = await open();
    expect(part.missing([{ offset: 0, length: 200_000 }])).toEqual([{ offset: 70_000, length: 10 }]);
    await append(part, 70_000, 10);
    expect(await buffer(part.read({ offset: 0, length: 200_000 }))).toEqual(content.subarray(0, 200_000));
  });

  test("after a power cut at any byte it has whole frames, and nothing wrong", async () => {
    {
      await using part = await open();
      await append(part, 100, 300);
      await append(part, 5_000, 70_000);
      await part.drop({ offset: 100, length: 300 });
      await append(part, 100, 300);
    }
    const whole = await readFile(path());
    const spans = [
      { offset: 100, length: 300 },
      { offset: 5_000, length: 70_000 },
    ];
    for (let size = 0; size <= whole.length; size += size < 400 || size > whole.length - 400 ? 1 : 997) {
      await writeFile(path(), whole.subarray(0, size));
      // What the file system had not written may read as rubbish.
      if (size % 2 === 0) await writeFile(path(), Buffer.concat([whole.subarray(0, size), randomBytes(100)]));
      await using part = await open();
      for (const { offset, length } of part.held) {
        expect(await buffer(part.read({ offset, length }))).toEqual(content.subarray(offset, offset + length));
      }
      for (const { offset, length } of part.missing(spans)) await append(part, offset, length);
      expect(part.missing(spans)).toEqual([]);
    }
  });

  test("a file that is no longer what it was ends at its last whole frame", async () => {
    await using part = await open();
    await append(part, 0, 1_000);
    await truncate(path(), 500);
    await expect(buffer(part.read({ offset: 0, length: 1_000 }))).rejects.toMatchObject({ kind: "disk_failed" });
  });

  test("refuses bytes beyond the blob", async () => {
    await using part = await open();
    await expect(part.append(BLOB.size - 5, Buffer.alloc(6))).rejects.toThrow(RangeError);
  });
});
