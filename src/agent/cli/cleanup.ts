import type { Command } from "commander";
import { formatBytes } from "../../lib/terminal/bytes.ts";
import type { CleanupResponse } from "../local/api.ts";
import { type Register, withCommonOptions } from "./context.ts";
import { EXIT } from "./exit-code.ts";
import type { AgentPrinter } from "./printer.ts";

const HELP = `
Removes only images that the agent pulled itself, and none that an app runs from or needs for a rollback, that a
container uses, or that could not be pulled again right now. The agent also does this by itself: see "cleanup" in the
configuration.

Examples:
  edge-agent cleanup --dry-run --all
  edge-agent cleanup`;

export function addCleanup(program: Command, register: Register): void {
  const command = program
    .command("cleanup")
    .description("remove images that no app needs any more")
    .option("--dry-run", "say what would be removed, and remove nothing")
    .option("--all", "also images that were needed until recently");
  register(withCommonOptions(command).addHelpText("after", HELP), async ({ client, printer, io }, _, options) => {
    const query = new URLSearchParams({
      ...(options["dryRun"] === true && { dry_run: "" }),
      ...(options["all"] === true && { all: "" }),
    });
    const result = await client.request("POST", `/cleanup?${query.toString()}`, "cleanup", { signal: io.interrupted });
    if (printer.json) printer.document(result);
    else print(printer, result);
    return EXIT.ok;
  });
}

function print(printer: AgentPrinter, { dry_run: dryRun, removed, kept, freed_bytes: freed }: CleanupResponse): void {
  const verb = dryRun ? "would remove" : "removed";
  for (const { reference, bytes } of removed) printer.raw(`${verb} ${reference} (${formatBytes(bytes)})`);
  for (const { reference, bytes, why } of kept) printer.raw(`kept ${reference} (${formatBytes(bytes)}): ${why}`);
  if (removed.length === 0) printer.line("There is nothing to remove.");
  else printer.line(dryRun ? `That would free ${formatBytes(freed)}.` : `Freed ${formatBytes(freed)}.`);
}
