import type { Command } from "commander";
import type { Context } from "./context.ts";
import type { ExitCode } from "./exit-code.ts";

/** The work of a command. Errors are converted by `toCommandError`. */
export type Action = (
  context: Context,
  argument: string | undefined,
  options: Record<string, unknown>,
) => Promise<ExitCode>;

/** Registers a command's action, with the error handling common to all commands. */
export type Register = (command: Command, action: Action) => void;
