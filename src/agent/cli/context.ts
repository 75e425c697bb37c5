import type { Command } from "commander";
import { errorText } from "../../lib/error-text.ts";
import { DEFAULT_CONFIG } from "../config/default-paths.ts";
import { ConfigError, tryConfig } from "../config/config-error.ts";
import type { ConfigFile } from "../config/schema.ts";
import { DaemonUnavailableError, LocalClient } from "../local/client.ts";
import { LocalError } from "../local/local-error.ts";
import { findLocalSocket, readOnlySocketPath } from "../config/socket-path.ts";
import { EXIT, CommandError } from "./exit-code.ts";
import type { Io } from "./io.ts";
import { Printer } from "./printer.ts";

interface CommonOptions {
  readonly config: string;
  readonly socket?: string;
  readonly json?: boolean;
}

/** What a command works with. */
export interface Context {
  readonly io: Io;
  readonly printer: Printer;
  readonly client: LocalClient;
  readonly configPath: string;
  /** The configuration, or why it cannot be read: a person without the right to may still speak to the daemon. */
  readonly readConfig: () => Promise<ConfigFile | ConfigError>;
}

/** Adds the options every command for people has. */
export function withCommonOptions(command: Command): Command {
  return command
    .option("--json", "print JSON for programs")
    .option("-c, --config <file>", "configuration file of the agent", DEFAULT_CONFIG)
    .option("--socket <path>", "socket of the agent, where it is not as configured");
}

export function createContext(io: Io, { config: configPath, socket, json = false }: CommonOptions): Context {
  return {
    io,
    printer: new Printer(io, json),
    client: createClient(configPath, socket),
    configPath,
    readConfig: async () => {
      const { readConfigFile } = await import("../config/load.ts");
      return tryConfig(() => readConfigFile(configPath));
    },
  };
}

/** A socket that was named is used and no other. */
function createClient(configPath: string, named: string | undefined): LocalClient {
  if (named !== undefined) return new LocalClient(named);
  const socket = findLocalSocket(configPath);
  return new LocalClient(socket, readOnlySocketPath(socket));
}

/** What an error means to the person at the terminal. */
export function toCommandError(error: unknown): CommandError {
  if (error instanceof CommandError) return error;
  if (error instanceof DaemonUnavailableError) {
    return error.reason === "forbidden"
      ? new CommandError(EXIT.forbidden, error.message, "Try it with sudo.")
      : new CommandError(
          EXIT.down,
          error.message,
          "`edge-agent status` says why; `systemctl start edge-agent` starts it.",
        );
  }
  if (error instanceof LocalError && error.status === 403) {
    return new CommandError(EXIT.forbidden, error.message, "Try it with sudo.");
  }
  if (error instanceof LocalError)
    return new CommandError(error.status === 404 ? EXIT.notFound : EXIT.wrong, error.message);
  if (error instanceof ConfigError) return new CommandError(EXIT.usage, error.message);
  return new CommandError(EXIT.wrong, errorText(error));
}
