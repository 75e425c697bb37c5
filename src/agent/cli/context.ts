import type { Command } from "commander";
import { errorText } from "../../lib/error-text.ts";
import { DEFAULT_CONFIG } from "../core/host/default-paths.ts";
import { ConfigError, tryConfig } from "../config/config-error.ts";
import type { ConfigFile } from "../config/schema.ts";
import { DaemonUnavailableError, LocalClient } from "../local/client.ts";
import { LocalError } from "../local/local-error.ts";
import { findLocalSocket, readOnlySocketPath } from "../config/socket-path.ts";
import { CommandError, EXIT, type ExitCode } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { AgentPrinter } from "./printer.ts";

interface CommonOptions {
  readonly config: string;
  readonly socket?: string;
  readonly json?: boolean;
}

/** The objects a command works with. */
export interface Context {
  readonly io: Io;
  readonly printer: AgentPrinter;
  readonly client: LocalClient;
  readonly configPath: string;
  /** Returns the configuration or an error: a user who cannot read it may still use the daemon. */
  readonly readConfig: () => Promise<ConfigFile | ConfigError>;
}

/** Adds the options that all interactive commands have. */
export function withCommonOptions(command: Command): Command {
  return command
    .option("--json", "print JSON for programs")
    .option("-c, --config <file>", "configuration file of the agent", DEFAULT_CONFIG)
    .option("--socket <path>", "socket of the agent, if not as configured");
}

export function createContext(io: Io, { config: configPath, socket, json = false }: CommonOptions): Context {
  return {
    io,
    printer: new AgentPrinter(io, json),
    client: createClient(configPath, socket),
    configPath,
    readConfig: async () => {
      const { readConfigFile } = await import("../config/load.ts");
      return tryConfig(() => readConfigFile(configPath));
    },
  };
}

/** With `--socket`, does not fall back to the read-only socket. */
function createClient(configPath: string, given: string | undefined): LocalClient {
  if (given !== undefined) return new LocalClient(given);
  const socket = findLocalSocket(configPath);
  return new LocalClient(socket, readOnlySocketPath(socket));
}

/** What to do about an agent that does not respond. */
export const HUNG_HINT =
  "systemd restarts an agent that hangs for a minute. Without systemd, kill it (SIGKILL) and start it again: what it has accepted is on disk.";

/** Converts an error to a message, hint and exit code for the user. */
export function toCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  if (error instanceof DaemonUnavailableError) {
    if (error.reason === "forbidden") return new CommandError(EXIT.forbidden, error.message, "Try it with sudo.");
    const hint =
      error.reason === "hung" ? HUNG_HINT : "`edge-agent status` says why; `systemctl start edge-agent` starts it.";
    return new CommandError(EXIT.down, error.message, hint);
  }
  if (error instanceof LocalError && error.status === 403) {
    return new CommandError(EXIT.forbidden, error.message, "Try it with sudo.");
  }
  if (error instanceof LocalError)
    return new CommandError(error.status === 404 ? EXIT.notFound : EXIT.wrong, error.message);
  if (error instanceof ConfigError) return new CommandError(EXIT.usage, error.message);
  return new CommandError(EXIT.wrong, errorText(error));
}

/** The work of a command. Errors are converted by `toCommandError`. */
export type Action = (
  context: Context,
  argument: string | undefined,
  options: Record<string, unknown>,
) => Promise<ExitCode>;

/** Registers a command's action, with the error handling common to all commands. */
export type Register = (command: Command, action: Action) => void;
