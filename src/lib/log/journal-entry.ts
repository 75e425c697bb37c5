import { sanitizeLines } from "../terminal/sanitize.ts";
import { type DatagramSender, openDatagramSender } from "../unix-datagram.ts";
import { formatJournalLine, priorityOf } from "./journal.ts";
import { parseLogFields, type LogFields, formatLogText } from "./readable-line.ts";

/** The journal's socket. */
const JOURNAL_SOCKET = "/run/systemd/journal/socket";

/** Longer datagrams are not accepted by every kernel and configuration. */
export const MAX_ENTRY_BYTES = 128 * 1024;

const MAX_MESSAGE_BYTES = 32 * 1024;
const MAX_FIELD_BYTES = 8 * 1024;
const MAX_FIELDS = 60;

/** Log fields that share one journal field. */
const ALIASES: ReadonlyMap<string, string> = new Map([["deployment_id", "deployment"]]);

const HEADER_FIELDS: ReadonlySet<string> = new Set(["level", "time", "name", "msg", "err"]);

interface Target {
  write(line: string): void;
}

/**
 * Writes log lines to the journal with their fields. Falls back to `stream` when the journal's socket does not take an
 * entry (journal busy or restarting) or when this Node.js cannot send datagrams.
 *
 * @param stream standard output, connected to the journal by systemd
 */
export function journalTarget(
  stream: Target,
  sender: DatagramSender | undefined = openDatagramSender(),
  path: string = JOURNAL_SOCKET,
): Target {
  return {
    write(line) {
      const entry = sender && journalEntry(line);
      if (!entry || !sender.send(path, entry)) stream.write(formatJournalLine(line));
    },
  };
}

/**
 * Converts a line of the log (JSON) to an entry in the journal's native protocol: MESSAGE as readable text, PRIORITY,
 * and every field under its own name. `app` becomes EDGE_APP, for `journalctl EDGE_APP=node-red`. Values that are too
 * long are truncated and marked. Returns `undefined` for a line that is not a log entry.
 */
export function journalEntry(line: string): Uint8Array | undefined {
  const entry = parseLogFields(line);
  if (!entry) return undefined;
  const fields = new Map<string, string>([
    ["MESSAGE", truncateBytes(formatLogText(entry), MAX_MESSAGE_BYTES)],
    ["PRIORITY", String(priorityOf(textOf(entry["level"])))],
    ["SYSLOG_IDENTIFIER", textOf(entry["name"])],
    ["SYSLOG_PID", String(process.pid)],
  ]);
  for (const [name, value] of journalFields(entry)) {
    if (fields.size >= MAX_FIELDS) break;
    if (!fields.has(name)) fields.set(name, truncateBytes(value, MAX_FIELD_BYTES));
  }
  return encodeFields(fields);
}

function* journalFields(entry: LogFields): Generator<readonly [name: string, value: string]> {
  for (const [name, value] of Object.entries(entry)) {
    if (!HEADER_FIELDS.has(name)) yield [fieldName(ALIASES.get(name) ?? name), textOf(value)];
  }
  const error = entry["err"];
  if (typeof error !== "object" || error === null) return;
  for (const [name, value] of Object.entries(error)) {
    // The stack is a field of its own: the message stays on one line.
    if (name === "stack" || name === "code" || name === "type") yield [fieldName(`error_${name}`), textOf(value)];
  }
}

/** Capital letters, digits and underscores; at most 64. */
function fieldName(name: string): string {
  const words = name.replaceAll(/([a-z])([A-Z])/g, "$1_$2").replaceAll(/[^A-Za-z0-9]+/g, "_");
  return `EDGE_${words.toUpperCase()}`.slice(0, 64);
}

function textOf(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return sanitizeLines(text).join("\n");
}

/** Encodes single-line values as `NAME=value`, others with their length, as the protocol requires. */
function encodeFields(fields: ReadonlyMap<string, string>): Uint8Array {
  const parts: Buffer[] = [];
  let length = 0;
  for (const [name, value] of fields) {
    const part = value.includes("\n") ? encodeMultilineField(name, value) : Buffer.from(`${name}=${value}\n`);
    if (length + part.length > MAX_ENTRY_BYTES) continue;
    length += part.length;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function encodeMultilineField(name: string, value: string): Buffer {
  const content = Buffer.from(value);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(content.length));
  return Buffer.concat([Buffer.from(`${name}\n`), length, content, Buffer.from("\n")]);
}

/** Truncates a text to `maxBytes` of UTF-8, followed by a note with the number of bytes left out. */
function truncateBytes(text: string, maxBytes: number): string {
  // A lone surrogate would become a replacement character of three bytes.
  const content = Buffer.from(text.toWellFormed());
  if (content.length <= maxBytes) return content.toString();
  const note = ` [${content.length - maxBytes} bytes left out]`;
  return `${content.toString("utf8", 0, maxBytes).replace(/\uFFFD$/, "")}${note}`;
}
