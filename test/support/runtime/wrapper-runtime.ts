import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Writes an OCI runtime for tests into the directory and returns its path. It calls `runc` after removing from the
 * container what this machine cannot grant: capabilities outside the bounding set, limits above the machine's own, and
 * namespaces its runc does not support. Without it privileged containers fail in a sandbox.
 */
export async function wrapperRuntime(directory: string): Promise<string> {
  const path = join(directory, "test-runc");
  const main = join(import.meta.dirname, "main.ts");
  await writeFile(path, `#!/bin/sh\nexec '${process.execPath}' --no-warnings '${main}' "$@"\n`);
  await chmod(path, 0o755);
  return path;
}
