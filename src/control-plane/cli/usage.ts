import { createReadStream } from "node:fs";
import type { Command } from "commander";
import { unixNow } from "../../lib/clock.ts";
import { auditEntry } from "../accounts/audit-entry.ts";
import { importUsage } from "../sims/import-usage.ts";
import { COLUMNS } from "../sims/read-records.ts";
import { type AdministrationOptions, runAdministration, withAdministrationOptions } from "./administration.ts";
import { commandOrigin } from "./command-origin.ts";
import type { CliContext } from "./context.ts";

/** `usage import`. */
export function addUsageCommands(program: Command, context: CliContext): void {
  const usage = program.command("usage").description("manage SIM usage");
  withAdministrationOptions(usage.command("import <file>"))
    .description(
      `import usage records from a CSV file with the columns ${COLUMNS.join(",")}: all of them, or none when a line is ` +
        "wrong; the same file again changes nothing",
    )
    .option("--skip-unknown", "skip records of SIMs that no asset has, instead of refusing the file")
    .action((file: string, options: AdministrationOptions & { skipUnknown?: true }) =>
      runAdministration(
        context,
        options,
        (store) =>
          importUsage(store, createReadStream(file), {
            skipUnknown: options.skipUnknown ?? false,
            now: unixNow(context.clock),
            // Of no account: the SIMs may be of several.
            audit: (result) =>
              auditEntry(commandOrigin(""), context.clock, { action: "usage.imported", details: { ...result } }),
          }),
        ({ imported, unchanged, skipped }) =>
          [
            `${imported} ${imported === 1 ? "record" : "records"} imported`,
            ...(unchanged > 0 ? [`${unchanged} unchanged`] : []),
            ...(skipped > 0 ? [`${skipped} skipped`] : []),
          ].join(", "),
      ),
    );
}
