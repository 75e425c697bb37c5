import { describe, expect, it } from "vitest";
import { countLines, sourceFiles } from "../support/repo/files.ts";

const quantile = (sorted: readonly number[], share: number): number => sorted[Math.floor(sorted.length * share)] ?? 0;

describe("files stay small", async () => {
  const paths = sourceFiles("src", "scripts", "test");
  const files = await Promise.all(paths.map(async (path) => ({ path, lines: await countLines(path) })));
  const sizes = files.map(({ lines }) => lines).toSorted((a, b) => a - b);

  it("none has more than 400 lines", () => {
    expect(files.filter(({ lines }) => lines > 400)).toEqual([]);
  });

  it("half have fewer than 80, nine in ten fewer than 200", () => {
    expect(quantile(sizes, 0.5)).toBeLessThan(80);
    expect(quantile(sizes, 0.9)).toBeLessThan(200);
  });
});
