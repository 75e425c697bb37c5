import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { parseJson } from "../../lib/parse-json.ts";
import { writeAtomically } from "../../lib/write-atomically.ts";
import { type AppLogLine, appLogLineSchema } from "../../protocol/apps/app-log.ts";

/** Maximum lines and bytes kept of an app's log, the latest ones. */
export const MAX_KEPT_LINES = 500;
const MAX_KEPT_BYTES = 128 * 1024;

/** Directory of the files, in the state directory. */
const PREVIOUS_LOG_DIRECTORY = "previous-logs";
const PREVIOUS_LOG_SUFFIX = ".jsonl";

const FILE_MODE = 0o600;
const DIRECTORY_MODE = 0o700;

/** The last lines of the container that an app had before its present one. One log for each app. */
export interface PreviousLogs {
  /** Keeps lines in place of those kept before. Secrets must be masked in them. Throws if they cannot be written. */
  keep(app: string, lines: readonly AppLogLine[]): void;
  /** Returns the lines that were kept, oldest first; an empty list if there are none or they cannot be read. */
  read(app: string): AppLogLine[];
  /** Removes what was kept; no error if there is nothing. */
  remove(app: string): void;
  /** Removes what was kept of apps that are not listed. */
  removeOthers(apps: readonly string[]): void;
}

/** Keeps logs as files with one JSON object for each line. */
export function createPreviousLogs(stateDir: string): PreviousLogs {
  const directory = join(stateDir, PREVIOUS_LOG_DIRECTORY);
  const pathOf = (app: string): string => join(directory, `${app}${PREVIOUS_LOG_SUFFIX}`);
  return {
    keep(app, lines) {
      mkdirSync(directory, { recursive: true, mode: DIRECTORY_MODE });
      writeAtomically(pathOf(app), lastLines(lines), { mode: FILE_MODE });
    },
    read(app) {
      return readText(pathOf(app)).split("\n").flatMap(parseLine).slice(-MAX_KEPT_LINES);
    },
    remove(app) {
      rmSync(pathOf(app), { force: true });
    },
    removeOthers(apps) {
      const kept = new Set(apps.map((app) => `${app}${PREVIOUS_LOG_SUFFIX}`));
      for (const name of listNames(directory)) if (!kept.has(name)) rmSync(join(directory, name), { force: true });
    },
  };
}

/** Formats the latest lines that fit into both limits. */
function lastLines(lines: readonly AppLogLine[]): string {
  const texts: string[] = [];
  let bytes = 0;
  for (const line of lines.slice(-MAX_KEPT_LINES).toReversed()) {
    const text = `${JSON.stringify(line)}\n`;
    bytes += Buffer.byteLength(text);
    if (bytes > MAX_KEPT_BYTES) break;
    texts.push(text);
  }
  return texts.toReversed().join("");
}

function parseLine(text: string): AppLogLine[] {
  const line = text === "" ? undefined : appLogLineSchema.safeParse(parseJson(text, "frame")).data;
  return line ? [line] : [];
}

/** A log that cannot be read is as good as none: it only explains the past. */
function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

function listNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
