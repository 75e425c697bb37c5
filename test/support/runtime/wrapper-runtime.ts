import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Writes an OCI runtime for tests into the directory and answers its path. It passes every call to `runc`, and before
 * that takes out of what a container asks for whatever this machine cannot give: capabilities that the kernel's
 * bounding set lacks, limits above the machine's own, and namespaces that its runc does not know. Without it privileged
 * containers fail in a sandbox.
 */
export async function wrapperRuntime(directory: string): Promise<string> {
  const path = join(directory, "test-runc");
  const main = join(import.meta.dirname, "main.ts");
  await writeFile(path, `#!/bin/sh\nexec '${process.execPath}' --no-warnings '${main}' "$@"\n`);
  await chmod(path, 0o755);
  return path;
}
