import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import {
  GENERATED_FILES,
  GENERATED_SECTIONS,
  regenerate,
  regenerateFile,
  replaceSection,
} from "../../scripts/docs/generated.ts";

describe("generated parts of the documentation", () => {
  it.each(GENERATED_SECTIONS)("$page: $name matches the source (npm run docs)", async (section) => {
    const text = await readFile(section.page, "utf8");
    expect(text).toBe(await regenerate(section, text));
  });

  it.each(GENERATED_FILES)("$path matches the source (npm run docs)", async (file) => {
    expect(await readFile(file.path, "utf8")).toBe(await regenerateFile(file));
  });

  it("a section is replaced, and the text around it is kept", () => {
    const page = "before\n<!-- generated: x -->\nold\n<!-- end: x -->\nafter";
    expect(replaceSection(page, "x", "new")).toBe("before\n<!-- generated: x -->\n\nnew\n\n<!-- end: x -->\nafter");
  });

  it("missing markers are an error", () => {
    expect(() => replaceSection("text", "x", "new")).toThrow(/generated: x/);
  });
});
