import { readFile } from "node:fs/promises";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";

/** Paths, relative to the project, of the files under version control or about to be, below the given folders. */
export function projectFiles(...folders: readonly string[]): string[] {
  const args = ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...folders];
  const paths = execFileSync("git", args, { encoding: "utf8" }).split("\n");
  return paths.filter((path) => path !== "" && existsSync(path)).toSorted();
}

/** TypeScript sources among them. */
export function sourceFiles(...folders: readonly string[]): string[] {
  return projectFiles(...folders).filter((path) => path.endsWith(".ts"));
}

export async function countLines(path: string): Promise<number> {
  return (await readFile(path, "utf8")).trimEnd().split("\n").length;
}
