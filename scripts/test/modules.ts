import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** For each TypeScript file of the project, by its path: the project's TypeScript files that it names. */
export type Modules = ReadonlyMap<string, readonly string[]>;

/** Stands for the executables in dist/: what they are built from is behind it. */
export const EXECUTABLES = "dist/";

/**
 * A path of a module in a string: of an import, an export or `new URL`, or of a program that is started from its source.
 * Every import of this project names the file with its ending, so that no parser is needed.
 */
const NAMED_FILE = /["'`](\.{1,2}\/[^"'`\s]+\.(?:ts|tsx|mjs)|(?:src|test|scripts)\/[^"'`\s]+\.(?:ts|tsx|mjs))["'`]/g;
const NAMED_EXECUTABLE = /["'`](?:\.\/)?dist(?:["'`]|\/(?:edge|node|lib|console))/;
const ENTRY = /^src\/[^/]+\/main\.tsx?$/;

/** Runs git and returns the lines it prints. */
export function git(...args: readonly string[]): string[] {
  return execFileSync("git", ["-c", "core.quotePath=off", ...args], { encoding: "utf8", maxBuffer: 2 ** 26 })
    .split("\n")
    .filter(Boolean);
}

/** Returns the tracked and the new files of the project below the given folders, without ignored ones. Default: all. */
export function projectFiles(...folders: readonly string[]): string[] {
  const paths = git("ls-files", "--cached", "--others", "--exclude-standard", "--", ...folders);
  return paths.filter((path) => existsSync(path)).toSorted();
}

/** Reads which modules name which. */
export function readModules(): Modules {
  const modules = new Set(projectFiles("src", "test", "scripts").filter((path) => /\.(ts|tsx|mjs)$/.test(path)));
  return new Map([
    [EXECUTABLES, [...modules].filter((path) => ENTRY.test(path))],
    ...[...modules].map((path) => [path, namedFiles(path, readFileSync(path, "utf8"))] as const),
  ]);
}

function namedFiles(path: string, source: string): string[] {
  // Paths in this folder's tables are no imports.
  if (path.startsWith("scripts/test/")) source = source.replaceAll(/["'`](?:src|test|scripts)\//g, "");
  const named = [...source.matchAll(NAMED_FILE)].map(([, name = ""]) =>
    name.startsWith(".") ? join(dirname(path), name) : name,
  );
  // Also files that were removed: who names one is touched by that.
  const files = [...new Set(named)];
  return NAMED_EXECUTABLE.test(source) ? [...files, EXECUTABLES] : files;
}

/** Returns a module and all that it reaches through the modules it names. */
export function reachable(modules: Modules, from: string): ReadonlySet<string> {
  const reached = new Set([from]);
  for (const path of reached) for (const next of modules.get(path) ?? []) reached.add(next);
  return reached;
}
