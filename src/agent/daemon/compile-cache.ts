import { readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";

/** A release needs 1 MB. Node.js never removes the entries of earlier releases. */
const MAX_BYTES = 4 * 1024 * 1024;

/** What the agent has compiled by then is what a start needs. Later on there is more, which would take memory at each start. */
const FLUSH_AFTER_MS = 3_000;

/**
 * Makes Node.js keep the compiled code of modules that are imported from now on in the directory. Without a directory, or if it
 * cannot be written, each start compiles them, which takes a tenth longer. Node.js checks the entries and ignores those that are
 * damaged, or of another version or source.
 *
 * The code is executed: only the user that runs the agent, and root, may be able to write to the directory.
 */
export function enableCompileCache(directory: string | undefined): void {
  if (directory === undefined) return;
  try {
    if (sizeOf(directory) > MAX_BYTES) for (const name of readdirSync(directory)) remove(join(directory, name));
  } catch {
    // Does not exist yet, or cannot be read or cleared: then Node.js cannot use it either.
  }
  process.getBuiltinModule("node:module").enableCompileCache({ directory });
}

/** Writes the compiled code to disk. Node.js does so at its end too, but a device may lose its power before. */
export function flushCompileCache(clock: Clock): Disposable {
  return clock.timer(FLUSH_AFTER_MS, () => process.getBuiltinModule("node:module").flushCompileCache());
}

function sizeOf(directory: string): number {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" });
  return files.reduce((sum, file) => sum + statSync(join(directory, file)).size, 0);
}

function remove(path: string): void {
  rmSync(path, { recursive: true, force: true });
}
