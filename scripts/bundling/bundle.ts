import { join } from "node:path";
import { build } from "rolldown";
import type { Executable } from "./executables.ts";
import { leaveOut } from "./left-out.ts";

/** Bundles a program with all it imports into one ES module, readable in stack traces, beside a source map. */
export async function bundle(executable: Executable, folder: string): Promise<void> {
  await build({
    input: `./${executable.entry}`,
    platform: "node",
    plugins: [leaveOut(executable.leftOut)],
    // An import that is not found would only show on the device.
    onLog: (level, log, handle) => handle(log.code === "UNRESOLVED_IMPORT" ? "error" : level, log),
    output: {
      file: join(folder, `${executable.name}.mjs`),
      format: "esm",
      codeSplitting: false,
      sourcemap: "hidden",
      comments: { legal: true, annotation: false, jsdoc: false },
      minify: { compress: true, mangle: false, codegen: false },
    },
  });
}
