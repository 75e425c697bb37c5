import { fstatSync } from "node:fs";
import { sanitizeLine } from "../terminal/sanitize.ts";
import { parseLogEntry } from "./readable-line.ts";

// Priorities of syslog, which journalctl -p selects by.
const PRIORITIES: ReadonlyMap<string, number> = new Map([
  ["fatal", 2],
  ["error", 3],
  ["warn", 4],
  ["info", 6],
  ["debug", 7],
  ["trace", 7],
]);

const DEFAULT_PRIORITY = 6;

/** The priority a level of the log has in syslog and the journal. */
export function priorityOf(level: string): number {
  return PRIORITIES.get(level) ?? DEFAULT_PRIORITY;
}

/**
 * Whether what is written to the descriptor goes to the journal: systemd says which stream it connected, and a
 * program that was started with another one inherits the variable all the same.
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

/** A line of JSON as the journal takes it: the priority in front, then what a person reads. The journal has the time. */
export function formatJournalLine(line: string): string {
  const entry = parseLogEntry(line);
  return entry ? `<${priorityOf(entry.level)}>${entry.text}\n` : `${sanitizeLine(line.trimEnd())}\n`;
}
