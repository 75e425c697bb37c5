import { EXIT } from "./cli/exit-code.ts";
import { fail } from "./cli/fail.ts";
import { createProgram } from "./program.ts";
import { MEASURE_COMMAND } from "./telemetry/command.ts";

/*
 * What is not asked for is not loaded: the daemon has no use for the commands of people, and memory is short; and a
 * person waits for a command.
 */

const program = createProgram().exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));

try {
  if (process.argv[2] !== "run" && process.argv[2] !== MEASURE_COMMAND) {
    const { addCommands } = await import("./cli/main.ts");
    await addCommands(program, process.argv[2]);
  }
  await program.parseAsync();
} catch (error) {
  fail("edge-agent", error);
}
