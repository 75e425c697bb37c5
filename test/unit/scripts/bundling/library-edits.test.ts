import stringWidth from "string-width";
import { describe, expect, it } from "vitest";
import { editLibraries, LAZY_LIBRARIES } from "../../../../scripts/bundling/library-edits.ts";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "rolldown";
import { tempDir } from "../../../support/temp-dir.ts";

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

it("the edited string-width measures as the library does", async () => {
  await using folder = await tempDir();
  await build({
    input: "string-width",
    platform: "node",
    plugins: [editLibraries(LAZY_LIBRARIES)],
    output: { file: join(folder.path, "width.mjs"), format: "esm" },
  });
  const { default: edited } = (await import(pathToFileURL(join(folder.path, "width.mjs")).href)) as {
    readonly default: typeof stringWidth;
  };
  const texts = ["", "plain", "é", "日本", "👍🏽", "👨‍👩‍👧", "🇩🇪🇫🇷", "1️⃣", "☎︎", "a\u0301", "\u001b[31mred\u001b[0m", "🏽"];
  expect(texts.map((text) => edited(text))).toEqual(texts.map((text) => stringWidth(text)));
  expect(edited("👨‍👩‍👧")).toBe(2);
});
