// Exits 0 when node_modules holds what package-lock.json asks for, 1 when it does not, 2 when the lock file itself is
// out of date. Runs on any Node.js from 20 on, since it decides whether the right one gets installed.
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

// npm writes this file last, so that it is missing after an interrupted installation.
function installedFitsLock(installed, lock) {
  const wanted = Object.entries(lock.packages).filter(([path]) => path !== "");
  const isHere = ([path, entry]) => {
    const here = installed.packages[path];
    if (here) return here.version === entry.version && here.integrity === entry.integrity;
    return entry.optional === true || entry.devOptional === true;
  };
  return wanted.every(isHere) && Object.keys(installed.packages).every((path) => path in lock.packages);
}

const lock = readJson("package-lock.json");
const manifest = readJson("package.json");
const installed = readJson("node_modules/.package-lock.json");
if (!lock || !manifest || !lockFitsManifest(lock, manifest)) {
  console.error("set-up: package-lock.json does not fit package.json; mend it with: npm install --ignore-scripts");
  process.exitCode = 2;
} else if (!installed || !installedFitsLock(installed, lock)) {
  process.exitCode = 1;
}
