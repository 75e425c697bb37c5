import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { BENCHMARK_TABLES } from "../../scripts/docs/benchmark-tables.ts";
import {
  GENERATED_FILES,
  GENERATED_SECTIONS,
  regenerate,
  regenerateFile,
  replaceSection,
} from "../../scripts/docs/generated.ts";
import { sourceFiles } from "../support/repo/files.ts";

describe("generated parts of the documentation", () => {
  it.each(GENERATED_SECTIONS)("$page: $name matches the source (npm run docs)", async (section) => {
    const text = await readFile(section.page, "utf8");
    expect(text).toBe(await regenerate(section, text));
  });

  it.each(GENERATED_FILES)("$path matches the source (npm run docs)", async (file) => {
    expect(await readFile(file.path, "utf8")).toBe(await regenerateFile(file));
  });

  it("docs/benchmarks.md and README.md have a place for each table of a run, and each of their benchmarks exists", async () => {
    const page = await readFile("docs/benchmarks.md", "utf8");
    for (const name of ["conditions", ...Object.keys(BENCHMARK_TABLES)]) replaceSection(page, name, "");
    replaceSection(await readFile("README.md", "utf8"), "figures", "");
    const sources = await Promise.all(sourceFiles("test/bench").map((path) => readFile(path, "utf8")));
    const names = new Set(
      sources.flatMap((text) => [...text.matchAll(/^ {2}name: "(.*)",$/gm)].map(([, name]) => name)),
    );
    const unknown = Object.values(BENCHMARK_TABLES)
      .flat()
      .filter((name) => !names.has(name));
    expect(unknown).toEqual([]);
  });

  it("a section is replaced, and the text around it is kept", () => {
    const page = "before\n<!-- generated: x -->\nold\n<!-- end: x -->\nafter";
    expect(replaceSection(page, "x", "new")).toBe("before\n<!-- generated: x -->\n\nnew\n\n<!-- end: x -->\nafter");
  });

  it("missing markers are an error", () => {
    expect(() => replaceSection("text", "x", "new")).toThrow(/generated: x/);
  });
});
