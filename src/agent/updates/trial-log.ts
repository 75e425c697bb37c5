import { closeSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { TRIAL_LOG } from "../../lib/release/paths.ts";
import { sanitizeLines } from "../../lib/terminal/sanitize.ts";

const MAX_BYTES = 8 * 1024;
const MAX_LINES = 20;

/**
 * Returns the last lines that a version on trial had logged when the device went back; none if they were not kept.
 * `release-trial` keeps them: a version that does not start can keep nothing.
 */
export function readTrialLog(releasesFolder: string, version: string): string[] {
  try {
    const file = openSync(join(releasesFolder, TRIAL_LOG, version), "r");
    try {
      const bytes = Buffer.alloc(MAX_BYTES);
      const text = bytes.toString("utf8", 0, readSync(file, bytes, 0, MAX_BYTES, 0));
      return sanitizeLines(text)
        .filter((line) => line !== "")
        .slice(-MAX_LINES);
    } finally {
      closeSync(file);
    }
  } catch {
    return [];
  }
}
