import { type DestinationStream, type Logger, pino } from "pino";
import type { Clock } from "./clock.ts";
import { BurstFilter } from "./log/burst-filter.ts";
import { isJournalStream } from "./log/journal.ts";
import { journalTarget } from "./log/journal-entry.ts";
import type { LogLevel } from "./log/levels.ts";
import { MASK, maskTokens } from "./redact.ts";
import { escapeJson, sanitizeLine, sanitizeLines } from "./terminal/sanitize.ts";

export type { Logger } from "pino";

export interface LoggerOptions {
  readonly name: string;
  readonly level: LogLevel;
  /** File descriptor of the log, 1 (standard output) by default. */
  readonly fd?: number;
  /**
   * Writes lines in the background, for a server that logs every request. Those of the last moment are lost when the
   * process is killed. By default each line is written before the call returns.
   */
  readonly background?: boolean;
  /** Readable lines with colour instead of JSON; by default when the descriptor is a terminal. */
  readonly pretty?: boolean;
  /** Given every line of JSON as it is written, secrets masked. */
  readonly tap?: (line: string) => void;
  /** Sums up bursts of lines that are alike, in time as this clock has it. By default every line is written. */
  readonly burstClock?: Clock;
}

// The second net: nothing in the code logs these, and if something does, the value is masked.
const SECRET_FIELDS = [
  "environments",
  "device_token",
  "api_key",
  "token",
  "authorization",
  "registry_auth",
  "password",
];

/**
 * The process's logger: one JSON object a line; readable lines on a terminal; entries with fields in the journal, where
 * the environment says that it is what the descriptor leads to. Known secret fields are masked by
 * name, keys and tokens by their form, whatever field or message they stand in. Control characters are escaped.
 */
export async function createLogger(options: LoggerOptions): Promise<Logger> {
  const fd = options.fd ?? 1;
  const target = await openTarget(fd, options);
  return pino(
    {
      name: options.name,
      level: options.level,
      base: { name: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: MASK },
      // What a terminal would obey is escaped, wherever the line ends up: it is still the same JSON.
      hooks: { streamWrite: (line) => escapeJson(maskTokens(line)) },
    },
    wrapTarget(target, options),
  );
}

type Target = Pick<DestinationStream, "write">;

async function openTarget(fd: number, { pretty, background }: LoggerOptions): Promise<Target> {
  if (pretty ?? (await isTerminal(fd))) return await prettyStream(fd);
  const plain = pino.destination({ dest: fd, sync: background !== true });
  return isJournalStream(fd, process.env) ? journalTarget(plain) : plain;
}

function wrapTarget(target: Target, { tap, burstClock }: LoggerOptions): Target {
  if (!tap && !burstClock) return target;
  const write = (line: string): void => {
    tap?.(line);
    target.write(line);
  };
  if (!burstClock) return { write };
  const filter = new BurstFilter(burstClock, write);
  // Synchronous to the end: a count must not be lost because the process stops.
  process.once("exit", () => filter.flush());
  return { write: (line) => filter.push(line) };
}

async function isTerminal(fd: number): Promise<boolean> {
  const { isatty } = await import("node:tty");
  return isatty(fd);
}

async function prettyStream(fd: number) {
  const { default: pinoPretty } = await import("pino-pretty");
  const pretty = pinoPretty({
    destination: fd,
    sync: true,
    colorize: true,
    ignore: "pid,hostname,name",
    translateTime: "HH:MM:ss",
  });
  return { write: (line: string) => void pretty.write(sanitizeLogLine(line)) };
}

/** A line whose texts may be printed: JSON escapes what a terminal would obey, and printing it takes that back. */
function sanitizeLogLine(line: string): string {
  const safe = JSON.stringify(JSON.parse(line), (name, field: unknown) => {
    if (typeof field === "object" && field !== null && !Array.isArray(field)) return sanitizeFieldNames(field);
    if (typeof field !== "string") return field;
    // Only the stack of an error is laid out in lines.
    return name === "stack" ? sanitizeLines(field).join("\n") : sanitizeLine(field);
  });
  return `${safe}\n`;
}

function sanitizeFieldNames(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [sanitizeLine(name), field as unknown]));
}
