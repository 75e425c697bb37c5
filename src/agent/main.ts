import { Command } from "commander";
import { z } from "zod";
import { VERSION } from "../lib/version.ts";
import { EXIT } from "./cli/exit-code.ts";
import { fail } from "./cli/fail.ts";
import { DEFAULT_CONFIG } from "./config/default-path.ts";
import { MEASURE_COMMAND } from "./telemetry/command.ts";

/*
 * What is not asked for is not loaded: the daemon has no use for the commands of people, and memory is short; and a
 * person waits for a command.
 */

// A schema is used a few times at most in a command's life, and not often in the daemon's: not worth being compiled.
z.config({ jitless: true });

const program = new Command("edge-agent")
  .description("Runs containerised apps on this device, as the control plane asks.")
  .version(VERSION)
  .showHelpAfterError()
  .exitOverride(({ exitCode }) => process.exit(exitCode === 0 ? EXIT.ok : EXIT.usage));

program
  .command("run")
  .description("run in the foreground until stopped by SIGTERM or SIGINT; the apps keep running")
  .option("-c, --config <file>", "configuration file", DEFAULT_CONFIG)
  .action(async ({ config }: { config: string }) => {
    const { runDaemon } = await import("./daemon/main.ts");
    await runDaemon(config);
  });

// Asked for by the daemon itself, in a process that ends with it.
program.command(MEASURE_COMMAND, { hidden: true }).action(async () => {
  const { measure } = await import("./telemetry/measure.ts");
  process.stdout.write(JSON.stringify(await measure()));
});

try {
  if (process.argv[2] !== "run" && process.argv[2] !== MEASURE_COMMAND) {
    const { addCommands } = await import("./cli/main.ts");
    await addCommands(program, process.argv[2]);
  }
  await program.parseAsync();
} catch (error) {
  fail("edge-agent", error);
}
