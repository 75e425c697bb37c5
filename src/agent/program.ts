import { Command } from "commander";
import { VERSION } from "../lib/version.ts";
import { DEFAULT_CONFIG } from "./core/host/default-paths.ts";
import { enableCompileCache } from "./daemon/compile-cache.ts";
import { MEASURE_COMMAND } from "./telemetry/command.ts";

/** Creates the command line of the daemon. The interactive commands are added on demand. */
export function createProgram(): Command {
  const program = new Command("edge-agent")
    .description("Runs containerised apps on this device, as the control plane asks.")
    .version(VERSION)
    .showHelpAfterError();
  program
    .command("run")
    .description("run in the foreground until stopped by SIGTERM or SIGINT; the apps keep running")
    .option("-c, --config <file>", "configuration file", DEFAULT_CONFIG)
    .action(async ({ config }: { config: string }) => {
      // Set by systemd.
      enableCompileCache(process.env["STATE_DIRECTORY"]);
      const { runDaemon } = await import("./daemon/main.ts");
      await runDaemon(config);
    });
  // Called by the daemon itself, as a child process.
  program.command(MEASURE_COMMAND, { hidden: true }).action(async () => {
    const { measure } = await import("./telemetry/measure.ts");
    process.stdout.write(JSON.stringify(await measure()));
  });
  return program;
}
