import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { sourceFiles } from "../support/repo/files.ts";

// Pieced together, so that this file does not hold what it looks for.
const FOCUSED = new RegExp(String.raw`\b(it|test|describe|suite)(\.\w+)*\.${"only"}\b`);

it("no test is left focused, which would silently keep the others from running", async () => {
  const files = await Promise.all(
    sourceFiles("test").map(async (path) => ({ path, text: await readFile(path, "utf8") })),
  );
  expect(files.filter(({ text }) => FOCUSED.test(text)).map(({ path }) => path)).toEqual([]);
  expect(FOCUSED.test(["describe", "each", "only"].join("."))).toBe(true);
});
