import { readFile, writeFile } from "node:fs/promises";
import { GENERATED_SECTIONS, regenerate } from "./docs/generated.ts";

for (const section of GENERATED_SECTIONS) {
  await writeFile(section.page, await regenerate(section, await readFile(section.page, "utf8")));
}
