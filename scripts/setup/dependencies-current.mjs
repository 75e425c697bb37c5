// Exits with 0 when node_modules matches package-lock.json, 1 when it does not, 2 when the lock file itself is out of
// date. Runs on Node.js 20 and newer: it runs before the right version is installed.
import { readFileSync } from "node:fs";

const root = new URL("../../", import.meta.url);

function readJson(path) {
  try {
    return JSON.parse(readFileSync(new URL(path, root), "utf8"));
  } catch {
    return undefined;
  }
}

const DEPENDENCY_FIELDS = ["dependencies", "devDependencies", "optionalDependencies"];

const sorted = (record) => JSON.stringify(record ?? {}, Object.keys(record ?? {}).toSorted());

function lockFitsManifest(lock, manifest) {
  return DEPENDENCY_FIELDS.every((field) => sorted(lock.packages[""][field]) === sorted(manifest[field]));
}

// npm writes node_modules/.package-lock.json last: it is missing after an interrupted installation.
function installedFitsLock(installed, lock) {
  const wanted = Object.entries(lock.packages).filter(([path]) => path !== "");
  const isInstalled = ([path, entry]) => {
    const found = installed.packages[path];
    if (found) return found.version === entry.version && found.integrity === entry.integrity;
    return entry.optional === true || entry.devOptional === true;
  };
  return wanted.every(isInstalled) && Object.keys(installed.packages).every((path) => path in lock.packages);
}

const lock = readJson("package-lock.json");
const manifest = readJson("package.json");
const installed = readJson("node_modules/.package-lock.json");
if (!lock || !manifest || !lockFitsManifest(lock, manifest)) {
  console.error("set-up: package-lock.json does not match package.json; update it with: npm install --ignore-scripts");
  process.exitCode = 2;
} else if (!installed || !installedFitsLock(installed, lock)) {
  process.exitCode = 1;
}
