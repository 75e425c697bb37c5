import { execFileSync } from "node:child_process";

/** Seconds since the epoch that what is built is dated: `SOURCE_DATE_EPOCH`, or when the last commit was made. */
export function sourceEpoch(environment: Readonly<Record<string, string | undefined>>): number {
  const text = environment["SOURCE_DATE_EPOCH"] ?? lastCommit();
  if (!/^\d+$/.test(text)) throw new Error(`SOURCE_DATE_EPOCH is to be a number of seconds, and is ${text}`);
  return Number(text);
}

function lastCommit(): string {
  try {
    return execFileSync("git", ["log", "-1", "--format=%ct"], { encoding: "utf8" }).trim();
  } catch (error) {
    throw new Error("set SOURCE_DATE_EPOCH where the sources are not in git: files are dated by it", { cause: error });
  }
}
