import { type Command, CommanderError } from "commander";
import { EXIT, Failure, SilentExit, usageFailure } from "./failure.ts";
import type { Io } from "./io.ts";
import { createProgram } from "./program.ts";
import { Printer } from "./printer.ts";

/** Runs one command line. Never throws: errors are printed to standard error. @param args without the program's name */
export async function run(args: readonly string[], io: Io): Promise<number> {
  const program = createProgram(io);
  let running: Command | undefined;
  program.hook("preAction", (_program, command) => void (running = command));
  try {
    await program.parseAsync(args, { from: "user" });
    return EXIT.ok;
  } catch (error) {
    // Commander has printed help or version, on request or because the command is missing.
    if (error instanceof CommanderError && HELP_CODES.has(error.code))
      return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    if (error instanceof SilentExit) return error.exitCode;
    const failure = toFailure(error, io, program, args);
    new Printer(io, args.includes("--json")).failure(running ? fillIn(failure, running) : failure);
    return failure.exitCode;
  }
}

/** Puts the asset or the fleet that the command names in place of the word in the hint, so that it can be pasted. */
function fillIn(failure: Failure, { registeredArguments, processedArgs }: Command): Failure {
  const { message, exitCode, code, details } = failure;
  let { hint } = failure;
  for (const [index, argument] of registeredArguments.entries()) {
    const [word, value]: [string, unknown] = [argument.name().toUpperCase(), processedArgs[index]];
    // A value that a shell takes apart stays out.
    if (!FILLED_IN.has(word) || typeof value !== "string" || !/^\w[\w.-]*$/.test(value)) continue;
    hint = hint?.replaceAll(new RegExp(String.raw`\b${word}\b`, "g"), value);
  }
  return new Failure(message, { exitCode, code, details, hint });
}

const FILLED_IN = new Set(["ASSET", "FLEET"]);

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
