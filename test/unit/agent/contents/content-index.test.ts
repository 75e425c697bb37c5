import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ContentFile } from "../../../../src/agent/contents/content-file.ts";
import { ContentIndex } from "../../../../src/agent/contents/content-index.ts";
import { contentDigest } from "../../../../src/lib/layer-parts/content-digest.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const digest = (text: string): string => contentDigest(Buffer.from(text));
const imageId = (text: string): string => `sha256:${createHash("sha256").update(text).digest("hex")}`;
const contentsOf = (...names: string[]): ContentFile => ContentFile.of(names.map((name) => digest(name)));
const numbersOf = (contents: ContentFile | undefined, wanted: string): number[] => {
  const { first, count } = contents?.find(wanted) ?? { first: 0, count: 0 };
  return Array.from({ length: count }, (_, file) => contents?.numberAt(first + file) ?? -1);
};

let directory: Awaited<ReturnType<typeof tempDir>>;
let now = 1_000_000;
const path = (): string => join(directory.path, "contents");
const index = (maxBytes?: number): ContentIndex => new ContentIndex(path(), () => (now += 1_000), maxBytes);

beforeEach(async () => {
  directory = await tempDir();
});
afterEach(() => directory[Symbol.asyncDispose]());

describe("the index of what images contain", () => {
  test("finds every file with a content, in their order, and no other", () => {
    const names = Array.from({ length: 500 }, (_, number) => `file ${number}`);
    const contents = contentsOf(...names, "file 7");
    for (const [number, name] of names.entries()) {
      expect(numbersOf(contents, digest(name))).toEqual(number === 7 ? [7, 500] : [number]);
    }
    expect(contents.find(digest("another"))).toBeUndefined();
    expect(contentsOf().find(digest("another"))).toBeUndefined();
  });

  // Digests are evenly spread, unless somebody chose the contents.
  test("finds every file whatever the digests are", () => {
    const byte = fc.oneof(fc.constantFrom(0, 1, 255), fc.integer({ min: 0, max: 255 }));
    const digests = fc.array(
      fc.array(byte, { minLength: 10, maxLength: 10 }).map((bytes) => Buffer.from(bytes).toString("hex")),
      { maxLength: 200 },
    );
    fc.assert(
      fc.property(digests, digests, (files, others) => {
        const contents = ContentFile.of(files);
        for (const wanted of [...files, ...others]) {
          const numbers = files.flatMap((file, number) => (file === wanted ? [number] : []));
          expect(numbersOf(contents, wanted)).toEqual(numbers);
        }
      }),
      { numRuns: 50 },
    );
  });

  test("takes 14 bytes for a file", () => {
    const names = Array.from({ length: 1_000 }, (_, number) => `file ${number}`);
    expect(contentsOf(...names).encode().length).toBeLessThanOrEqual(14 * 1_000 + 16);
  });

  test("is read again after a restart, and not if any byte of it is wrong", async () => {
    index().save(imageId("a"), contentsOf("one", "two"));
    expect(numbersOf(index().load(imageId("a")), digest("two"))).toEqual([1]);
    const [name = ""] = await readdir(path());
    const whole = await readFile(join(path(), name));
    for (let at = 0; at < whole.length; at++) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] ?? 0) ^ 1;
      await writeFile(join(path(), name), damaged);
      expect(index().load(imageId("a"))).toBeUndefined();
      await writeFile(join(path(), name), whole.subarray(0, at));
      expect(index().load(imageId("a"))).toBeUndefined();
    }
    expect(await readdir(path())).toEqual([]);
  });

  test("is bounded: what was used least recently goes first, and what is too large is not kept", () => {
    const bounded = index(130);
    const three = (name: string): ContentFile => contentsOf(`${name} 1`, `${name} 2`, `${name} 3`);
    bounded.save(imageId("a"), three("a"));
    bounded.save(imageId("b"), three("b"));
    bounded.load(imageId("a"));
    bounded.save(imageId("c"), three("c"));
    expect(["a", "b", "c"].filter((name) => bounded.load(imageId(name)))).toEqual(["a", "c"]);
    bounded.save(imageId("d"), contentsOf(...Array.from({ length: 20 }, (_, number) => `d ${number}`)));
    expect(["a", "b", "c", "d"].filter((name) => bounded.load(imageId(name)))).toEqual(["a", "c"]);
  });

  test("forgets images that are gone", () => {
    for (const name of ["a", "b"]) index().save(imageId(name), contentsOf(name));
    index().retain([imageId("b")]);
    expect(["a", "b"].filter((name) => index().load(imageId(name)))).toEqual(["b"]);
  });

  test("forgets what a crash has left of a file", async () => {
    index().save(imageId("a"), contentsOf("a"));
    const [kept = ""] = await readdir(path());
    await writeFile(join(path(), `${kept}.${spawnSync("true").pid}.tmp`), "half");
    index().retain([imageId("a")]);
    expect(await readdir(path())).toEqual([kept]);
  });
});
