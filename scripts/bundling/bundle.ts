import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { build } from "rolldown";
import { groupsOf } from "./chunks.ts";
import type { Executable } from "./executables.ts";
import { LAZY_LIBRARIES, ZOD_WITHOUT_DESCRIPTIONS, editLibraries } from "./library-edits.ts";
import { isLazyBuiltin, lazyBuiltins, stubPackages } from "./plugins.ts";

/**
 * Puts the small modules that all chunks share into one file: opening and linking a file costs the same for any size,
 * and there would be dozens. Loading them has no side effects.
 */
const COMMON = { name: "common", test: isLazyBuiltin, includeDependenciesRecursively: false };

/**
 * Bundles a program with its imports into ES modules with source maps: `NAME.mjs`, and with `splits` a `NAME.HASH.mjs` for
 * each lazily loaded part. Comments, white space and the names of local variables are left out: they would only take
 * memory. Names of functions and classes are kept, for the stacks of errors.
 */
export async function bundle(executable: Executable, folder: string): Promise<void> {
  const { output } = await build({
    input: `./${executable.entry}`,
    platform: "node",
    preserveEntrySignatures: false,
    plugins: [
      lazyBuiltins(),
      stubPackages(executable.stubbed),
      editLibraries(LAZY_LIBRARIES),
      executable.describesSchemas ? null : editLibraries(ZOD_WITHOUT_DESCRIPTIONS),
    ],
    // Otherwise an unresolved import would only fail on the device.
    onLog: (level, log, handle) => handle(log.code === "UNRESOLVED_IMPORT" ? "error" : level, log),
    output: {
      dir: folder,
      entryFileNames: `${executable.name}.mjs`,
      chunkFileNames: `${executable.name}.[hash].mjs`,
      format: "esm",
      codeSplitting: executable.splits && { groups: [COMMON, ...groupsOf(executable.parts)] },
      sourcemap: "hidden",
      comments: { legal: true, annotation: false, jsdoc: false },
      minify: { compress: true, mangle: { toplevel: false, keepNames: true }, codegen: true },
    },
  });
  for (const { fileName } of output.filter(({ type }) => type === "chunk")) {
    const file = join(folder, fileName);
    await writeFile(file, toAscii(await readFile(file, "utf8")));
  }
}

/**
 * Escapes every non-ASCII character: a single one makes V8 keep the module's whole text with two bytes per character.
 */
function toAscii(code: string): string {
  // Without the u flag the expression matches the halves of a surrogate pair one by one, as the escapes require.
  return code.replaceAll(/[^\0-\x7F]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
