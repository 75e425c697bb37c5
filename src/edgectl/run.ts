import { type Command, CommanderError } from "commander";
import { EXIT, Failure, SilentExit, usageFailure } from "./failure.ts";
import type { Io } from "./io.ts";
import { createProgram } from "./program.ts";
import { Printer } from "./printer.ts";

/** Runs one command line. Never throws: errors are printed to standard error. @param args without the program's name */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const program = createProgram(io);
  try {
    await program.parseAsync(args, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    // Commander has printed help or version, on request or because the command is missing.
    if (error instanceof CommanderError && HELP_CODES.has(error.code))
      return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error instanceof SilentExit) return error.exitCode;
    const failure = toFailure(error, io, program, args);
    new Printer(io, args.includes("--json")).failure(failure);
    return failure.exitCode;
  }
}

const HELP_CODES = new Set(["commander.help", "commander.helpDisplayed", "commander.version"]);

function toFailure(error: unknown, io: Io, program: Command, args: readonly string[]): Failure {
  if (error instanceof CommanderError) {
    const message = error.message.replace(/^error: /, "").replaceAll("\n", " ");
    const name = ["edgectl", ...commandPath(program, args)].join(" ");
    return usageFailure(message.charAt(0).toUpperCase() + message.slice(1), `See \`${name} --help\`.`);
  }
  if (error instanceof Failure) return error;
  if (io.interrupted.aborted) return new Failure("Interrupted.", { exitCode: EXIT.interrupted });
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new Failure("edgectl failed with an unexpected error.", {
    exitCode: EXIT.failed,
    hint: "This is a defect; please report it with the text above.",
    details: { what },
  });
}

function commandPath(program: Command, args: readonly string[]): string[] {
  const path: string[] = [];
  let command: Command | undefined = program;
  for (const arg of args) {
    command = command?.commands.find((child) => child.name() === arg);
    if (!command) break;
    path.push(arg);
  }
  return path;
}
