import { fstatSync } from "node:fs";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { parseLogEntry } from "./readable-line.ts";

// Syslog priorities, as used by journalctl -p.
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ["fatal", 2],
  ["error", 3],
  ["warn", 4],
  ["info", 6],
  ["debug", 7],
  ["trace", 7],
]);

const DEFAULT_PRIORITY = 6;

/** Returns the syslog priority of a log level. */
export function priorityOf(level: string): number {
  return PRIORITIES.get(level) ?? DEFAULT_PRIORITY;
}

/**
 * Whether a descriptor is connected to the journal. Compares it with the stream that systemd names in JOURNAL_STREAM:
 * the variable is inherited also by programs with other output.
 */
export function isJournalStream(fd: number, env: Readonly<Record<string, string | undefined>>): boolean {
  const named = /^(\d+):(\d+)$/.exec(env["JOURNAL_STREAM"] ?? "");
  if (!named) return false;
  try {
    const { dev, ino } = fstatSync(fd, { bigint: true });
    return `${dev}:${ino}` === named[0];
  } catch {
    return false;
  }
}

/** Converts a line of JSON to a line for the journal: priority prefix and readable text, without the time. */
export function formatJournalLine(line: string): string {
  const entry = parseLogEntry(line);
  return entry ? `<${priorityOf(entry.level)}>${entry.text}\n` : `${sanitizeLine(line.trimEnd())}\n`;
}
