import { readdirSync, readFileSync } from "node:fs";

/* Files of the kernel, of which each machine has others: what is not there, or may not be read, is empty, and so a gap. */

export function textOf(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}

export function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
