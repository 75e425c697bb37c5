import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { sourceFiles } from "../support/repo/files.ts";

// Concatenated, so that this file does not match the pattern.
const FOCUSED = new RegExp(String.raw`\b(it|test|describe|suite)(\.\w+)*\.${"only"}\b`);

it("no test is focused, which would silently skip the others", async () => {
  const files = await Promise.all(
    sourceFiles("test").map(async (path) => ({ path, text: await readFile(path, "utf8") })),
  );
  expect(files.filter(({ text }) => FOCUSED.test(text)).map(({ path }) => path)).toEqual([]);
  expect(FOCUSED.test(["describe", "each", "only"].join("."))).toBe(true);
});
