import { type Logger, pino } from "pino";
import { MASK, maskTokens } from "./redact.ts";

export type { Logger } from "pino";

export const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

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
 * The process's logger: one JSON object a line, or readable lines on a terminal. Known secret fields are masked by
 * name, keys and tokens by their form, whatever field or message they stand in.
 */
export async function createLogger(options: LoggerOptions): Promise<Logger> {
  const fd = options.fd ?? 1;
  const { tap } = options;
  const pretty = options.pretty ?? (await isTerminal(fd));
  return pino(
    {
      name: options.name,
      level: options.level,
      base: { name: options.name },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.*.${field}`]), censor: MASK },
      hooks: {
        streamWrite: (line) => {
          const masked = maskTokens(line);
          tap?.(masked);
          return masked;
        },
      },
    },
    pretty ? await prettyStream(fd) : pino.destination({ dest: fd, sync: options.background !== true }),
  );
}

async function isTerminal(fd: number): Promise<boolean> {
  const { isatty } = await import("node:tty");
  return isatty(fd);
}

async function prettyStream(fd: number) {
  const { default: pinoPretty } = await import("pino-pretty");
  return pinoPretty({
    destination: fd,
    sync: true,
    colorize: true,
    ignore: "pid,hostname,name",
    translateTime: "HH:MM:ss",
  });
}
