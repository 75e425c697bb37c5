import { spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { completeLock } from "./lock/complete.ts";
import type { PackageLock } from "./lock/missing-packages.ts";

/*
 * Completes package-lock.json with the packages of other platforms, so that `npm ci` accepts it. Needs a registry that
 * has all of them; otherwise lists the missing packages and leaves the file unchanged.
 */

const LOCK = "package-lock.json";
const QUIET = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

/** Lines of npm's error output to show; the others are usage hints. */
const MAX_ERROR_LINES = 4;

function npm(directory: string, ...args: readonly string[]): void {
  const { status, stderr } = spawnSync("npm", [...args, ...QUIET], { cwd: directory, encoding: "utf8" });
  if (status === 0) return;
  const lines = stderr.split("\n").map((line) => line.replace(/^npm (?:error|ERR!) ?/, "").trim());
  throw new Error(`npm ${args.join(" ")} failed: ${lines.filter(Boolean).slice(0, MAX_ERROR_LINES).join(" ")}`);
}

/** Resolves packages as optional dependencies of a temporary project: unavailable packages are omitted. */
function resolvePackages(work: string, wanted: Readonly<Record<string, string>>): PackageLock["packages"] {
  const project = mkdtempSync(join(work, "packages-"));
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, optionalDependencies: wanted }));
  npm(project, "install", "--package-lock-only", "--omit-lockfile-registry-resolved");
  return (JSON.parse(readFileSync(join(project, LOCK), "utf8")) as PackageLock).packages;
}

/** Throws if `npm ci` refuses the lock file. */
function verify(work: string, text: string): void {
  const project = mkdtempSync(join(work, "verify-"));
  cpSync("package.json", join(project, "package.json"));
  writeFileSync(join(project, LOCK), text);
  npm(project, "ci", "--dry-run");
}

const work = mkdtempSync(join(tmpdir(), "complete-lock-"));
try {
  const lock = JSON.parse(readFileSync(LOCK, "utf8")) as PackageLock;
  const result = await completeLock(lock, async (wanted) => resolvePackages(work, wanted));
  if (result.kind === "lacking") {
    const names = result.packages.map(({ name, range }) => `${name}@${range}`);
    console.error(
      `${LOCK} is unchanged: the registry in use lacks ${names.length} packages of other platforms: ${names.join(", ")}`,
    );
    process.exitCode = 1;
  } else {
    const text = `${JSON.stringify(result.lock, undefined, 2)}\n`;
    verify(work, text);
    if (result.added.length > 0) {
      writeFileSync(`${LOCK}.tmp`, text);
      renameSync(`${LOCK}.tmp`, LOCK);
    }
    console.log(`${LOCK} is complete: ${result.added.length} packages added; npm ci accepts it`);
  }
} catch (error) {
  console.error(`${LOCK} is unchanged: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
} finally {
  rmSync(work, { recursive: true, force: true });
}
