import { chmod, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { boundedCapabilities, CAPABILITIES } from "./fit-process.ts";

/**
 * Writes an OCI runtime for tests into the directory and returns its path. It calls `runc` after removing from the
 * container what this machine cannot grant: capabilities outside the bounding set, limits above the machine's own, and
 * namespaces its runc does not support. Without it privileged containers fail in a sandbox.
 *
 * An engine calls its runtime five times for a container, and once for each health check. Node.js takes twenty times as
 * long to start as `runc`: it runs only where the container asks for something to remove.
 */
export async function wrapperRuntime(directory: string): Promise<string> {
  const available = boundedCapabilities(await readFile("/proc/self/status", "utf8"));
  const missing = CAPABILITIES.filter((name) => !available.has(name)).map((name) => `"${name}"`);
  const path = join(directory, "test-runc");
  await writeFile(path, script([...missing, '"type": *"time"', '"rlimits": *\\['].join("|")));
  await chmod(path, 0o755);
  return path;
}

/** @param removable matches the configuration of a container, or of a process in it, that may have to be changed */
const script = (removable: string): string => `#!/bin/sh
for arg; do
  case $previous in
    --bundle | -b) file=$arg/config.json ;;
    --process | -p) file=$arg ;;
  esac
  case $arg in
    --bundle=*) file=\${arg#*=}/config.json ;;
    --process=*) file=\${arg#*=} ;;
  esac
  previous=$arg
done
if [ -n "$file" ] && grep -Eq '${removable}' "$file"; then
  exec '${process.execPath}' --no-warnings '${join(import.meta.dirname, "main.ts")}' "$@"
fi
exec runc "$@"
`;
