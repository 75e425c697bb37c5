import { createHash } from "node:crypto";
import { readFile, readdir } from "node:fs/promises";
import { join } from "node:path";

// Everything that what is built depends on; node_modules follows the lock file.
const FOLDERS = ["src", "scripts/bundling"];
const FILES = ["package.json", "package-lock.json", "tsconfig.base.json"];

/** Hash over the names and contents of everything the build reads. */
export async function fingerprint(): Promise<string> {
  const hash = createHash("sha256");
  for (const path of [...FILES, ...(await Promise.all(FOLDERS.map(listFiles))).flat()]) {
    hash.update(`${path}\0`).update(await readFile(path));
  }
  return hash.digest("hex");
}

async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  return files.toSorted();
}
