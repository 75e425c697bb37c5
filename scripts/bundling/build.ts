import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { bundle } from "./bundle.ts";
import { EXECUTABLES } from "./executables.ts";
import { fingerprint } from "./fingerprint.ts";
import { launcher } from "./launcher.ts";
import { LIBRARIES, addRuntime } from "./runtime.ts";
import { sizeTable } from "./sizes.ts";

const FOLDER = "dist";
const PACKAGES = "packages";
const FINGERPRINT_FILE = join(FOLDER, ".fingerprint");

/**
 * Builds the executables into dist/ and answers a table of their sizes. With `onlyIfChanged`, does nothing when dist/ is
 * of the sources as they are now.
 */
export async function build(options: { readonly onlyIfChanged: boolean }): Promise<string | undefined> {
  const current = await fingerprint();
  if (options.onlyIfChanged && current === (await builtFingerprint())) return undefined;
  await mkdir(".cache", { recursive: true });
  const staging = await mkdtemp(".cache/build-");
  try {
    for (const executable of EXECUTABLES) {
      await bundle(executable, staging);
      await writeFile(join(staging, executable.name), launcher(executable), { mode: 0o755 });
    }
    await addRuntime(staging);
    await writeFile(join(staging, ".fingerprint"), current);
    const sizes = await sizeTable(staging);
    await replace(staging, FOLDER);
    return sizes;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function builtFingerprint(): Promise<string | undefined> {
  try {
    return await readFile(FINGERPRINT_FILE, "utf8");
  } catch {
    return undefined;
  }
}

// One rename for each entry, so that a process that starts meanwhile finds a whole file, old or new.
async function replace(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const built = await readdir(from);
  for (const entry of built) {
    // Of all entries only a folder cannot be renamed over; nothing runs from that one.
    if (entry === LIBRARIES) await rm(join(to, entry), { recursive: true, force: true });
    await rename(join(from, entry), join(to, entry));
  }
  // Packages of devices are made of this and stay until the next ones; their names say what they are.
  const kept = new Set([...built, PACKAGES]);
  for (const stale of (await readdir(to)).filter((entry) => !kept.has(entry))) {
    await rm(join(to, stale), { recursive: true });
  }
}
