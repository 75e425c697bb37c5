import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { VERSION } from "../../src/lib/version.ts";

it("the executables show the version of package.json", async () => {
  const manifest = JSON.parse(await readFile("package.json", "utf8")) as { version: string };
  expect(VERSION).toBe(manifest.version);
});
