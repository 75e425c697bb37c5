import { readFile } from "node:fs/promises";
import { projectFiles } from "../../../scripts/test/modules.ts";

/** The TypeScript files among `projectFiles`. */
export function sourceFiles(...folders: readonly string[]): string[] {
  return projectFiles(...folders).filter((path) => /\.tsx?$/.test(path));
}

export async function countLines(path: string): Promise<number> {
  return (await readFile(path, "utf8")).trimEnd().split("\n").length;
}
