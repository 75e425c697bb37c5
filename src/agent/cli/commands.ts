import type { Command } from "commander";
import { addApp } from "./app.ts";
import { addApps } from "./apps.ts";
import { type Context, createContext, toFailure } from "./context.ts";
import { addDeploy } from "./deploy.ts";
import { addDoctor } from "./doctor.ts";
import { addEvents } from "./events.ts";
import { addEnroll } from "./enroll.ts";
import type { ExitCode } from "./exit-code.ts";
import { EXIT, EXIT_CODE_HELP } from "./exit-code.ts";
import { onInterrupt } from "./interruption.ts";
import type { Io } from "./io.ts";
import { addLogs } from "./logs.ts";
import { Printer } from "./printer.ts";
import { addRestart } from "./restart.ts";
import { addStatus } from "./status.ts";
import { addSupportBundle } from "./support-bundle.ts";

/** Does what a command is for. Throws what `toFailure` knows to explain. */
export type Action = (
  context: Context,
  argument: string | undefined,
  options: Record<string, unknown>,
) => Promise<ExitCode>;

/** Registers a command's action so that whatever goes wrong is told in one way. */
export type Register = (command: Command, action: Action) => void;

const COMMANDS = [
  addStatus,
  addApps,
  addApp,
  addLogs,
  addEvents,
  addRestart,
  addDeploy,
  addDoctor,
  addSupportBundle,
  addEnroll,
] as const;

type Surroundings = Omit<Io, "interrupted">;

/** Adds the commands for people on the device. @param exit told how a command ended */
export function addLocalCommands(program: Command, io: Surroundings, exit: (code: ExitCode) => void): void {
  program.addHelpText("after", `\n${EXIT_CODE_HELP}`);
  const register: Register = (command, action) => {
    command.action(async (...args: unknown[]) => {
      const argument = typeof args[0] === "string" ? args[0] : undefined;
      const options = command.opts<{ config: string; socket?: string; json?: boolean }>();
      exit(await perform(io, options, (context) => action(context, argument, options)));
    });
  };
  for (const add of COMMANDS) add(program, register);
}

async function perform(
  surroundings: Surroundings,
  options: { readonly config: string; readonly socket?: string; readonly json?: boolean },
  action: (context: Context) => Promise<ExitCode>,
): Promise<ExitCode> {
  using interruption = onInterrupt();
  const io: Io = { ...surroundings, interrupted: interruption.signal };
  try {
    const exitCode = await action(createContext(io, options));
    return io.interrupted.aborted ? EXIT.interrupted : exitCode;
  } catch (error) {
    if (io.interrupted.aborted) return EXIT.interrupted;
    const { message, hint, exitCode } = toFailure(error);
    new Printer(io, options.json ?? false).failure(message, hint, exitCode);
    return exitCode;
  }
}
