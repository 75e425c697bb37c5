import { expect, it } from "vitest";
import { countLines, sourceFiles } from "../support/repo/files.ts";

it("no file has more than 400 lines", async () => {
  const paths = sourceFiles("src", "scripts", "test");
  const files = await Promise.all(paths.map(async (path) => ({ path, lines: await countLines(path) })));
  expect(files.filter(({ lines }) => lines > 400)).toEqual([]);
});
