import { describe, expect, it } from "vitest";
import { editLibraries } from "../../../../scripts/bundling/library-edits.ts";

const PLUGIN = editLibraries({ "library/index.js": [[/^const slow = load\(\);$/m, "const slow = () => load();"]] });

function transform(code: string, id: string): unknown {
  if (typeof PLUGIN.transform !== "function") throw new Error("a plugin without a function");
  return Reflect.apply(PLUGIN.transform, undefined, [code, id]) as unknown;
}

describe("edits of libraries", () => {
  it("change the file, and no other version of it below another package", () => {
    const edited = { code: "// first\nconst slow = () => load();\n", map: null };
    expect(transform("// first\nconst slow = load();\n", "/project/node_modules/library/index.js")).toEqual(edited);
    expect(transform("const slow = load();", "/project/node_modules/other/node_modules/library/index.js")).toBeNull();
    expect(transform("const slow = load();", "/project/src/library/index.js")).toBeNull();
  });

  it("fail when the file has changed", () => {
    expect(() => transform("const slow = await load();", "/project/node_modules/library/index.js")).toThrow(
      "library/index.js has changed",
    );
  });
});
