const LEAD = new Set(["level", "time", "name", "msg"]);

export interface LogEntry {
  readonly level: string;
  readonly time: string;
  /** The message, with the other fields behind it as `name=value`. One line. */
  readonly text: string;
}

/** Reads a line of a log, which is JSON; `undefined` for anything else. */
export function readLogEntry(line: string): LogEntry | undefined {
  const entry = parse(line);
  if (!entry) return undefined;
  const { level = "", time = "", msg = "" } = entry;
  const fields = Object.entries(entry).flatMap(([name, value]) => (LEAD.has(name) ? [] : [`${name}=${show(value)}`]));
  const text = [typeof msg === "string" ? msg : "", ...fields].join(" ").replaceAll("\n", " ").trim();
  return { level: show(level), time: show(time), text };
}

/** A line of a log as a person reads it; what is no line of a log stays as it is. */
export function readableLine(line: string): string {
  const entry = readLogEntry(line);
  return entry ? `${entry.time.slice(0, 19).replace("T", " ")} ${entry.level.padEnd(5)} ${entry.text}` : line;
}

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

function show(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value);
}
