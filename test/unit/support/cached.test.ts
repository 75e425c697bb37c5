import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { cached } from "../../support/cached.ts";

// Below the temporary directory, and missing at first, as in a fresh clone.
const root = mkdtempSync("/tmp/eat-cached-");
const cache = join(root, "cache");

afterAll(() => rmSync(root, { recursive: true, force: true }));

it("fills a directory once, also for callers at the same time", async () => {
  const bothFill = Promise.withResolvers<void>();
  let filling = 0;
  const fill = async (directory: string): Promise<void> => {
    writeFileSync(join(directory, "file"), "content");
    if (++filling === 2) bothFill.resolve();
    await bothFill.promise;
  };
  const paths = await Promise.all([cached(cache, "one", fill), cached(cache, "one", fill)]);
  paths.push(await cached(cache, "one", () => Promise.reject(new Error("it is there"))));
  expect(new Set(paths)).toEqual(new Set([join(cache, "one")]));
  expect(readFileSync(join(cache, "one", "file"), "utf8")).toBe("content");
  expect(readdirSync(cache)).toEqual(["one"]);
});

it("keeps nothing of a directory that could not be filled", async () => {
  await expect(cached(cache, "two", fillHalf)).rejects.toThrow("no network");
  expect(readdirSync(cache)).toEqual(["one"]);
});

function fillHalf(directory: string): Promise<void> {
  writeFileSync(join(directory, "half"), "content");
  return Promise.reject(new Error("no network"));
}
