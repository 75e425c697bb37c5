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
   * Writes lines asynchronously, for a server that logs every request. The last lines are lost when the process is
   * killed. By default each line is written before the call returns.
   */
  readonly background?: boolean;
  /** Readable lines with colour instead of JSON; by default when the descriptor is a terminal. */
  readonly pretty?: boolean;
  /** Called with every line of JSON, secrets masked. */
  readonly tap?: (line: string) => void;
  /** Clock for the summary of repeated lines. By default every line is written. */
  readonly burstClock?: Clock;
}

// Defence in depth: no code logs these fields; if some does, the value is masked.
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
 * Creates the process's logger: JSON lines, readable lines on a terminal, or entries with fields if the descriptor
 * leads to the journal. Known secret fields are masked by name, keys and tokens by their form in any field or message.
 * Control characters are escaped.
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
      // Terminal control sequences are escaped, whatever the target: the JSON value is the same.
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
  // Synchronous, so that no count is lost when the process ends.
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

/** Makes the texts of a JSON line safe to print: printing undoes JSON's own escapes of control characters. */
function sanitizeLogLine(line: string): string {
  const safe = JSON.stringify(JSON.parse(line), (name, field: unknown) => {
    if (typeof field === "object" && field !== null && !Array.isArray(field)) return sanitizeFieldNames(field);
    if (typeof field !== "string") return field;
    // Only the stack of an error has several lines.
    return name === "stack" ? sanitizeLines(field).join("\n") : sanitizeLine(field);
  });
  return `${safe}\n`;
}

function sanitizeFieldNames(fields: object): object {
  return Object.fromEntries(Object.entries(fields).map(([name, field]) => [sanitizeLine(name), field as unknown]));
}
