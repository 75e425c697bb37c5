import { mkdirSync, readdirSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";

/** A release needs 1 MB. Node.js never removes the entries of earlier releases. */
const MAX_BYTES = 4 * 1024 * 1024;

const WRITABLE_BY_OTHERS = 0o022;

/** By then a start has compiled what it needs. Later on there is more, which would take memory at each start. */
const FLUSH_AFTER_MS = 3_000;

/**
 * Makes Node.js keep the compiled code of modules that are imported from now on in `compiled/` of the directory. Without a
 * directory, or if it cannot be written, each start compiles them again. Node.js checks the entries and ignores those that are
 * damaged, or of another version or source.
 *
 * The code is executed: a directory of another user, or one that others can write to, is not used.
 *
 * @param stateDirectory as systemd says in `STATE_DIRECTORY`, where several are separated by colons
 */
export function enableCompileCache(stateDirectory: string | undefined): void {
  const [parent = ""] = stateDirectory?.split(":") ?? [];
  if (parent === "") return;
  const directory = join(parent, "compiled");
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    if (!isPrivate(directory)) return;
    if (sizeOf(directory) > MAX_BYTES) clear(directory);
  } catch {
    // A start that takes longer is no reason not to start.
    return;
  }
  process.getBuiltinModule("node:module").enableCompileCache({ directory });
}

/** Writes the compiled code to disk. Node.js does so at its end too, but a device may lose its power before. */
export function flushCompileCache(clock: Clock): Disposable {
  return clock.timer(FLUSH_AFTER_MS, () => process.getBuiltinModule("node:module").flushCompileCache());
}

function isPrivate(directory: string): boolean {
  const { uid, mode } = statSync(directory);
  return uid === process.getuid?.() && (mode & WRITABLE_BY_OTHERS) === 0;
}

function sizeOf(directory: string): number {
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" });
  return files.reduce((sum, file) => sum + statSync(join(directory, file)).size, 0);
}

function clear(directory: string): void {
  for (const name of readdirSync(directory)) rmSync(join(directory, name), { recursive: true, force: true });
}
