import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { bundle } from "./bundle.ts";
import { CONSOLE, buildConsole } from "./console.ts";
import { EXECUTABLES } from "./executables.ts";
import { launcher } from "./launcher.ts";
import { LIBRARIES, addRuntime } from "./runtime.ts";

const FOLDER = "dist";
const PACKAGES = "packages";
const FINGERPRINT_FILE = ".fingerprint";
/** What operators of edge-control load into Prometheus and Grafana. */
const MONITORING = "packaging/monitoring";
/** The units with which systemd runs edge-control. */
const UNITS = "packaging/recipes/systemd";
/** Public keys with which edge-control checks releases of the agent. */
const RELEASE_KEYS = "packaging/release-keys";
/** What is copied to dist/ as it is. */
const COPIED = [MONITORING, UNITS, RELEASE_KEYS];
/** Folders of dist/ that are replaced as a whole. */
const FOLDERS: ReadonlySet<string> = new Set([LIBRARIES, CONSOLE, ...COPIED.map((folder) => basename(folder))]);

// Everything the build reads; node_modules follows the lock file.
const SOURCE_FOLDERS = ["src", "scripts/bundling", ...COPIED];
const SOURCE_FILES = ["package.json", "package-lock.json", "tsconfig.base.json"];

/**
 * Builds the executables into dist/ and returns a table of their sizes. With `onlyIfChanged`, does nothing and returns
 * `undefined` when dist/ was built from the current sources.
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
    const consoleSize = await buildConsole(staging);
    await addRuntime(staging);
    for (const folder of COPIED) await cp(folder, join(staging, basename(folder)), { recursive: true });
    await writeFile(join(staging, FINGERPRINT_FILE), current);
    const sizes = `${await sizeTable(staging)}\n${consoleSize}`;
    await replace(staging, FOLDER);
    return sizes;
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** Returns a hash of the names and contents of everything the build reads. */
async function fingerprint(): Promise<string> {
  const hash = createHash("sha256");
  for (const path of [...SOURCE_FILES, ...(await Promise.all(SOURCE_FOLDERS.map(listFiles))).flat()]) {
    hash.update(`${path}\0`).update(await readFile(path));
  }
  return hash.digest("hex");
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.toSorted();
}

async function builtFingerprint(): Promise<string | undefined> {
  try {
    return await readFile(join(FOLDER, FINGERPRINT_FILE), "utf8");
  } catch {
    return undefined;
  }
}

/** Returns one line for each executable: the total size of its bundle, plain and compressed. */
async function sizeTable(folder: string): Promise<string> {
  const files = await readdir(folder);
  const lines = EXECUTABLES.map(async ({ name }) => {
    const parts = files.filter((file) => file.startsWith(`${name}.`) && file.endsWith(".mjs"));
    const content = Buffer.concat(await Promise.all(parts.map((file) => readFile(join(folder, file)))));
    const compressed = await promisify(gzip)(content);
    return `dist/${name.padEnd(12)} ${kilobytes(content)}, ${kilobytes(compressed)} with gzip`;
  });
  return (await Promise.all(lines)).join("\n");
}

function kilobytes(content: Buffer): string {
  return `${(content.length / 1000).toFixed(0).padStart(5)} kB`;
}

// Each entry is renamed, so that a process that starts meanwhile finds a complete file, old or new.
async function replace(from: string, to: string): Promise<void> {
  await mkdir(to, { recursive: true });
  const built = await readdir(from);
  for (const entry of built) {
    // Rename cannot replace a folder. Nothing runs from them.
    if (FOLDERS.has(entry)) await rm(join(to, entry), { recursive: true, force: true });
    await rename(join(from, entry), join(to, entry));
  }
  // Device packages are built from dist/ and stay until the next `npm run package`.
  const kept = new Set([...built, PACKAGES]);
  for (const stale of (await readdir(to)).filter((entry) => !kept.has(entry))) {
    await rm(join(to, stale), { recursive: true });
  }
}
