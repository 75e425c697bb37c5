import { accessSync, constants, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import type { ConfigFile } from "./schema.ts";

/** Created by the package. */
const DIRECTORY = "/var/log/edge-agent";
/** Exists only if the journal is kept across reboots. */
const PERSISTENT_JOURNAL = "/var/log/journal";

/** Returns the path of the log file. */
export function logFilePath({ path }: ConfigFile["log"]["file"]): string {
  return path ?? join(DIRECTORY, "agent.log");
}

/**
 * Returns whether to write a log file. By default, if its directory is writable and no persistent journal stores the
 * same lines: writing them twice wears the flash.
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
