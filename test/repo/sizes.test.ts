import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { countLines, sourceFiles } from "../support/repo/files.ts";

it("no file has more than 400 lines, but those that nobody reads, since they are generated", async () => {
  const paths = sourceFiles("src", "scripts", "test");
  const files = await Promise.all(paths.map(async (path) => ({ path, lines: await countLines(path) })));
  const long = files.filter(({ lines }) => lines > 400);
  const written: typeof long = [];
  for (const file of long)
    if (!(await readFile(file.path, "utf8")).startsWith("// Generated from ")) written.push(file);
  expect(written).toEqual([]);
});
