import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ConfigFile } from "./schema.ts";

/** Where distributions keep logs; the package makes the directory. */
const DIRECTORY = "/var/log/edge-agent";
/** There only where the journal outlives a reboot. */
const PERSISTENT_JOURNAL = "/var/log/journal";

/** Where the log file is, if one is written. */
export function logFilePath({ path }: ConfigFile["log"]["file"]): string {
  return path ?? join(DIRECTORY, "agent.log");
}

/**
 * Whether a log file is to be written: by default where its directory can be written and no journal keeps the same lines
 * over a reboot, since flash wears with each that is written twice.
 *
 * @param toJournal whether the log goes to the journal
 */
export function writesLogFile(file: ConfigFile["log"]["file"], toJournal: boolean): boolean {
  if (file.write !== "auto") return file.write === "always";
  if (toJournal && existsSync(PERSISTENT_JOURNAL)) return false;
  try {
    accessSync(dirname(logFilePath(file)), constants.W_OK | constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
