import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { heaviestPage } from "../../../scripts/bundling/console-size.ts";
import { typeOf } from "../../../scripts/docs/schema-types.ts";
import { tempDir } from "../../support/temp-dir.ts";

test("the size of a page is that of the entry and all that is imported at once, each file once", async () => {
  await using directory = await tempDir();
  const sizes = { "main.js": 100, "shared.js": 10, "a.js": 1, "b.js": 2, "later.js": 1000 };
  await mkdir(directory.path, { recursive: true });
  for (const [file, size] of Object.entries(sizes))
    await writeFile(join(directory.path, `${file}.br`), Buffer.alloc(size));
  const manifest = {
    "index.html": { file: "main.js", imports: ["_shared.js"] },
    "_shared.js": { file: "shared.js" },
    "pages/a/a-page.tsx": { file: "a.js", imports: ["index.html", "_shared.js"] },
    "pages/b/b-page.tsx": { file: "b.js", imports: ["index.html"], dynamicImports: ["pages/b/later.tsx"] },
    "pages/b/later.tsx": { file: "later.js" },
  };
  expect(await heaviestPage(manifest, directory.path)).toEqual({ page: "pages/b/b-page.tsx", bytes: 112 });
});

test.each([
  [{ type: "string" }, "string"],
  [{ type: ["string", "null"] }, "string | null"],
  [{ anyOf: [{ type: "integer" }, { type: "number" }, { type: "null" }] }, "number | null"],
  [{ const: "hello" }, `"hello"`],
  [{ enum: ["a", 1] }, `"a" | 1`],
  [{ $ref: "#/components/schemas/Asset" }, "Asset"],
  [{ type: "array", items: { anyOf: [{ type: "string" }, { type: "null" }] } }, "readonly (string | null)[]"],
  [
    { type: "object", properties: { a: { type: "boolean" }, b: {} }, required: ["a"] },
    `{ "a": boolean; "b"?: unknown }`,
  ],
  [
    { type: "object", propertyNames: { enum: ["x", "y"] }, additionalProperties: { type: "integer" } },
    `{ readonly [key in "x" | "y"]: number }`,
  ],
  [{ type: "object", additionalProperties: {} }, "{ readonly [key in string]: unknown }"],
  [{}, "unknown"],
])("the type of %j is %s", (schema, type) => {
  expect(typeOf(schema)).toBe(type);
});
