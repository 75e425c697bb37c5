import type { Command } from "commander";
import { configSchema } from "../config/config.ts";
import type { CliContext } from "./context.ts";
import { addConfigOptions, configOf } from "./database-options.ts";

/** `serve`, with an option for every configuration key. */
export function addServeCommand(program: Command, context: CliContext): void {
  const serve = program
    .command("serve")
    .description("run the control plane until it is stopped by SIGTERM or SIGINT")
    .option("--config <file>", "configuration file (JSON)")
    .option("--force", "serve a data directory although it was copied to another database");
  addConfigOptions(serve, configSchema.shape).action(async (options: Readonly<Record<string, unknown>>) => {
    await context.serve(configOf(options), { mayServeCopied: options["force"] === true });
  });
}
