import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "rolldown";
import type { Executable } from "./executables.ts";
import { isLazyBuiltin, lazyBuiltins, lazySegmenter, stubPackages } from "./plugins.ts";

/**
 * What every part uses, in one file: one of a few lines takes as long to open and to link as one of a hundred, and there
 * would be dozens. None of it does anything when it is loaded.
 */
const COMMON = { name: "common", test: isLazyBuiltin, includeDependenciesRecursively: false };

/**
 * Bundles a program with all it imports into ES modules, readable in stack traces, beside source maps: one, `NAME.mjs`,
 * or with `splits` that and a `NAME.HASH.mjs` for each part that is loaded later.
 */
export async function bundle(executable: Executable, folder: string): Promise<void> {
  const { output } = await build({
    input: `./${executable.entry}`,
    platform: "node",
    preserveEntrySignatures: false,
    plugins: [lazyBuiltins(), stubPackages(executable.stubbed), lazySegmenter()],
    // An import that is not found would only show on the device.
    onLog: (level, log, handle) => handle(log.code === "UNRESOLVED_IMPORT" ? "error" : level, log),
    output: {
      dir: folder,
      entryFileNames: `${executable.name}.mjs`,
      chunkFileNames: `${executable.name}.[hash].mjs`,
      format: "esm",
      codeSplitting: executable.splits && { groups: [COMMON] },
      sourcemap: "hidden",
      comments: { legal: true, annotation: false, jsdoc: false },
      minify: { compress: true, mangle: false, codegen: false },
    },
  });
  for (const { fileName } of output.filter(({ type }) => type === "chunk")) {
    const file = join(folder, fileName);
    await writeFile(file, toAscii(await readFile(file, "utf8")));
  }
}

/**
 * Writes every character beyond ASCII as an escape: a single one of them makes the engine keep the whole text of the
 * module with two bytes a character.
 */
function toAscii(code: string): string {
  // Without the u flag the expression sees the two halves of a surrogate pair one by one, as an escape needs them.
  return code.replaceAll(/[^\0-\x7F]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
