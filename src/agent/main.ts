import { errorText } from "../lib/error-text.ts";
import { sanitizeLine } from "../lib/terminal/sanitize.ts";
import { EXIT } from "./cli/exit-code.ts";
import { createProgram } from "./program.ts";
import { MEASURE_COMMAND } from "./telemetry/command.ts";

/*
 * Loads only what the command line needs: the daemon saves the memory of the interactive commands, and a command starts
 * faster without the daemon.
 */

const program = createProgram().exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));

/** Need no interactive command. */
const WITHOUT_COMMANDS: readonly (string | undefined)[] = ["run", MEASURE_COMMAND, "--version", "-V"];

try {
  if (!WITHOUT_COMMANDS.includes(process.argv[2])) {
    const { addCommands } = await import("./cli/main.ts");
    await addCommands(program, process.argv[2]);
  }
  await program.parseAsync();
} catch (error) {
  fail(error);
}

/** Prints an error to standard error in one line, and makes the process exit with 1. */
function fail(error: unknown): void {
  const message = errorText(error);
  process.stderr.write(`edge-agent: ${sanitizeLine(message.replaceAll(/\s*\n\s*/g, " "))}\n`);
  process.exitCode = 1;
}
