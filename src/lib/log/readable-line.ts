import { parseJson } from "../parse-json.ts";
import { sanitizeLine } from "../terminal/sanitize.ts";

const HEADER_FIELDS = new Set(["level", "time", "name", "msg"]);

/** The fields of a log line. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface LogEntry {
  readonly level: string;
  readonly time: string;
  /** The message, followed by the other fields as `name=value`. One line. */
  readonly text: string;
}

/** Parses a log line (JSON); `undefined` for any other text. */
export function parseLogEntry(line: string): LogEntry | undefined {
  const fields = parseLogFields(line);
  if (!fields) return undefined;
  const { level = "", time = "" } = fields;
  return {
    level: sanitizeLine(formatValue(level)),
    time: sanitizeLine(formatValue(time)),
    text: formatLogText(fields),
  };
}

/** Parses the fields of a log line (JSON); `undefined` for any other text. */
export function parseLogFields(line: string): LogFields | undefined {
  const value = parseJson(line, "file");
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as LogFields) : undefined;
}

/** Formats the message, followed by the other fields as `name=value`. One line. */
export function formatLogText(fields: LogFields): string {
  const { msg = "" } = fields;
  const others = Object.entries(fields).flatMap(([name, value]) =>
    HEADER_FIELDS.has(name) ? [] : [`${name}=${formatValue(value)}`],
  );
  const text = [typeof msg === "string" ? msg : "", ...others].join(" ").replaceAll("\n", " ").trim();
  return sanitizeLine(text);
}

/** Formats a log line for people. Other text is only made safe to print. */
export function formatLogLine(line: string): string {
  const entry = parseLogEntry(line);
  return entry
    ? `${entry.time.slice(0, 19).replace("T", " ")} ${entry.level.padEnd(5)} ${entry.text}`
    : sanitizeLine(line);
}

function formatValue(value: unknown): string {
  const text = messageOf(value) ?? value;
  if (typeof text !== "string") return JSON.stringify(text);
  return /^[^\s"=]+$/.test(text) ? text : JSON.stringify(text);
}

/** Returns an error's message. Its stack is in the log and would hide the rest of the line. */
function messageOf(value: unknown): string | undefined {
  const isError = typeof value === "object" && value !== null && "message" in value && "stack" in value;
  return isError && typeof value.message === "string" ? value.message : undefined;
}
