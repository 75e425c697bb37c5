import { Command, CommanderError } from "commander";
import { errorText } from "../../lib/error-text.ts";
import { sanitizeLine } from "../../lib/terminal/sanitize.ts";
import { VERSION } from "../../lib/version.ts";
import { addAccountCommands } from "./account.ts";
import { addAgentReleaseCommands } from "./agent-release.ts";
import { addAlertsCommands } from "./alerts.ts";
import { addAssetCommands } from "./asset.ts";
import { addAuditCommands } from "./audit.ts";
import { addBackupCommands } from "./backup.ts";
import type { AddCommand, CliContext } from "./context.ts";
import { addDatabaseCommands } from "./database.ts";
import { addKeyCommands } from "./key.ts";
import { addNetworkGroupCommands } from "./network-group.ts";
import { addSecretsCommands } from "./secrets.ts";
import { addServeCommand } from "./serve.ts";
import { addSetupCodeCommand } from "./setup-code.ts";
import { addSimOperatorCommands } from "./sim-operator.ts";
import { addUsageCommands } from "./usage.ts";

const COMMANDS: readonly AddCommand[] = [
  addServeCommand,
  addSetupCodeCommand,
  addAccountCommands,
  addKeyCommands,
  addAssetCommands,
  addNetworkGroupCommands,
  addUsageCommands,
  addAuditCommands,
  addSecretsCommands,
  addSimOperatorCommands,
  addAgentReleaseCommands,
  addAlertsCommands,
  addBackupCommands,
  addDatabaseCommands,
];

const EXIT_FAILED = 1;
const EXIT_USAGE = 2;

/**
 * Runs one command line and returns the exit code: 0; 1 when the command failed, with one line on `stderr`; 2 for a
 * usage error.
 */
export async function run(
  args: readonly string[],
  context: CliContext,
  stderr: { write(text: string): unknown },
): Promise<number> {
  const program = new Command("edge-control")
    .description("Control plane for edge devices: serves the API and the devices, and administers both.")
    .version(VERSION)
    .configureOutput({
      writeOut: (text) => context.stdout.write(text),
      writeErr: (text) => stderr.write(text),
    })
    .exitOverride();
  for (const add of COMMANDS) add(program, context);
  try {
    await program.parseAsync([...args], { from: "user" });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
    const message = errorText(error);
    stderr.write(`edge-control: ${sanitizeLine(message.replaceAll("\n", " "))}\n`);
    return EXIT_FAILED;
  }
}
