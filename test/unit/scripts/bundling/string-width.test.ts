import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "rolldown";
import stringWidth from "string-width";
import { expect, test } from "vitest";
import { editLibraries, LAZY_LIBRARIES } from "../../../../scripts/bundling/library-edits.ts";
import { tempDir } from "../../../support/temp-dir.ts";

test("the edited string-width measures as the library does", async () => {
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
