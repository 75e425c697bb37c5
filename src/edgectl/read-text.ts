import { readFile } from "node:fs/promises";
import { usageFailure } from "./failure.ts";
import type { Io } from "./io.ts";

/** Reads a file named on the command line, or standard input for `-`. Errors: exit code 2. */
export function readTextOrStdin(name: string, io: Io): Promise<string> {
  return name === "-" ? io.stdin.readAll() : readTextFile(name);
}

/** Reads a file named on the command line. Errors: exit code 2. */
export async function readTextFile(name: string): Promise<string> {
  try {
    return await readFile(name, "utf8");
  } catch (error) {
    throw usageFailure(`${name} cannot be read (${(error as NodeJS.ErrnoException).code ?? "unknown reason"}).`);
  }
}
