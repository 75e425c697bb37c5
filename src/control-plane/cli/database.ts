import type { Command } from "commander";
import { databaseOf, describeDatabase } from "../config/database-config.ts";
import { formatTable, printResult } from "./administration.ts";
import type { CliContext } from "./context.ts";
import { configOf, requirePostgres, withDatabaseOptions } from "./database-options.ts";

type Options = Readonly<Record<string, unknown>> & { readonly json?: true };

/** `migrate`, `copy` and `restored`. */
export function addDatabaseCommands(program: Command, context: CliContext): void {
  withDatabaseOptions(program.command("migrate"))
    .description("bring the schema of a PostgreSQL database up to date, forward only; instances may be serving it")
    .action(async (options: Options) => {
      const database = databaseOf(configOf(options));
      if (database.kind === "sqlite") {
        const done = { from: null, to: null };
        printResult(context, options, done, () => `nothing to do: \`serve\` migrates ${describeDatabase(database)}`);
        return;
      }
      const migrated = await context.database.migrate(database.options);
      printResult(context, options, migrated, ({ from, to }) =>
        from === to
          ? `${describeDatabase(database)} has schema version ${to}; nothing to do`
          : `migrated ${describeDatabase(database)} from schema version ${from} to ${to}`,
      );
    });
  withDatabaseOptions(program.command("copy"))
    .description(
      "copy a data directory into an empty PostgreSQL database that was migrated; the service must not be running, and " +
        "the command may be repeated if it was interrupted",
    )
    .requiredOption("--from <dir>", "the data directory")
    .option("--to <url>", "the database, such as postgres://USER@HOST/DATABASE; stands for --database-url")
    .action(async (options: Options & { from: string; to?: string }) => {
      const { from, to } = options;
      const database = requirePostgres(to === undefined ? options : { ...options, databaseUrl: to });
      const target = describeDatabase(database);
      const tables = await context.database.copy(from, database.options, target);
      printResult(context, options, { copied: tables ?? null }, () =>
        tables === undefined
          ? `${from} was copied to ${target} before; nothing to do`
          : `${formatTable([
              ["TABLE", "ROWS", "BYTES"],
              ...tables.map(({ table, rows, bytes }) => [table, String(rows), String(bytes)]),
            ])}\ncopied ${from} to ${target}; both have the same rows. Serve the database from now on, not the directory, ` +
            `with the directory's key file: set secrets_key_file to secrets.key, or to a copy of it.`,
      );
    });
  withDatabaseOptions(program.command("restored"))
    .description(
      "after a backup of a PostgreSQL database was restored, and before it is served: devices are asked for the outcome of " +
        "deployments before anything is undone",
    )
    .action(async (options: Options) => {
      const database = requirePostgres(options);
      const unfinished = await context.database.markRestored(database.options);
      printResult(context, options, { unfinished }, () => {
        const what = unfinished === 1 ? "1 unfinished deployment" : `${unfinished} unfinished deployments`;
        return `marked ${what} in ${describeDatabase(database)}`;
      });
    });
}
