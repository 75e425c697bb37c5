import { readFile } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Paths, relative to the project, of tracked and untracked files below the given folders, without ignored ones. */
export function projectFiles(...folders: readonly string[]): string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...folders];
  const paths = execFileSync("git", args, { encoding: "utf8" }).split("\n");
  return paths.filter((path) => path !== "" && existsSync(path)).toSorted();
}

/** The TypeScript files among `projectFiles`. */
export function sourceFiles(...folders: readonly string[]): string[] {
  return projectFiles(...folders).filter((path) => /\.tsx?$/.test(path));
}

export async function countLines(path: string): Promise<number> {
  return (await readFile(path, "utf8")).trimEnd().split("\n").length;
}
