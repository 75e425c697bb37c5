import { execFileSync } from "node:child_process";

/** Returns the date of all packaged files in Unix seconds: `SOURCE_DATE_EPOCH`, or the time of the last commit. */
export function sourceEpoch(environment: Readonly<Record<string, string | undefined>> = process.env): number {
  const text = environment["SOURCE_DATE_EPOCH"] ?? lastCommit();
  if (!/^\d+$/.test(text)) throw new Error(`SOURCE_DATE_EPOCH must be a number of seconds, and is ${text}`);
  return Number(text);
}

function lastCommit(): string {
  try {
    return execFileSync("git", ["log", "-1", "--format=%ct"], { encoding: "utf8" }).trim();
  } catch (error) {
    throw new Error("the sources are not in git: set SOURCE_DATE_EPOCH to the date of the files", { cause: error });
  }
}
