import { readFile, writeFile } from "node:fs/promises";
import { GENERATED_FILES, GENERATED_SECTIONS, regenerate, regenerateFile } from "./docs/generated.ts";

for (const section of GENERATED_SECTIONS) {
  await writeFile(section.page, await regenerate(section, await readFile(section.page, "utf8")));
}
for (const file of GENERATED_FILES) await writeFile(file.path, await regenerateFile(file));
