import { type Command, Option } from "commander";
import { safeJson, sanitizeValue } from "../../lib/terminal/sanitize.ts";
import { type Config, DATA_DIR_VARIABLE, DEFAULT_DATA_DIR } from "../config/config.ts";
import { type Database, databaseOf, keyFileOf } from "../config/database-config.ts";
import { loadConfig } from "../config/load-config.ts";
import type { Store } from "../store/store.ts";
import { type CliContext, ServiceCommandError } from "./context.ts";

export interface AdministrationOptions {
  readonly config?: string;
  readonly dataDir?: string;
  readonly json?: true;
}

/** Adds the options that every administration command has. */
export function withAdministrationOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--data-dir <dir>", "data directory of the server, which may be running").env(DATA_DIR_VARIABLE),
    )
    .option("--config <file>", "the server's configuration file")
    .option("--json", "print JSON");
}

/** Opens the store that the options select, runs `work` and prints its result. */
export async function runAdministration<T>(
  context: CliContext,
  options: AdministrationOptions,
  work: (store: Store) => Promise<T>,
  describe: (result: T) => string,
): Promise<void> {
  await using store = await openStoreOf(context, options);
  printResult(context, options, await work(store), describe);
}

/** Opens the store that the options select. */
export function openStoreOf(context: CliContext, options: AdministrationOptions): Promise<Store> {
  return context.openStore(databaseOfOptions(options));
}

/** The file of sealing keys from the options or the configuration. Throws `CommandError` if there is none. */
export function requireKeyFile(options: AdministrationOptions): string {
  const config = configOfOptions(options);
  const path = keyFileOf(config, databaseOf(config));
  if (path !== undefined) return path;
  throw new ServiceCommandError("secrets_key_file is not configured: nothing can be sealed");
}

/** The database from the options or the configuration. */
function databaseOfOptions(options: AdministrationOptions): Database {
  return databaseOf(configOfOptions(options));
}

/** The configuration that the options select. */
export function configOfOptions({ config, dataDir }: AdministrationOptions): Config {
  return loadConfig(config, dataDir === undefined ? {} : { data_dir: dataDir });
}

/** The data directory from the options or the configuration. Throws `CommandError` if the database is PostgreSQL. */
export function dataDirOf(options: AdministrationOptions): string {
  const database = databaseOfOptions(options);
  if (database.kind === "sqlite") return database.dataDir;
  throw new ServiceCommandError(
    "the database is PostgreSQL: back it up and restore it with its own tools, such as pg_dump and pg_restore, and run " +
      "`edge-control restored` after that; see docs/service-recovery.md",
  );
}

/** Whether the options, the environment or the configuration name the data directory. */
export function isDataDirNamed(options: AdministrationOptions): boolean {
  return options.dataDir !== undefined || dataDirOf(options) !== DEFAULT_DATA_DIR;
}

/** Throws `CommandError` when there is no such account. */
export async function requireAccount(store: Pick<Store, "accounts">, id: string): Promise<void> {
  if (await store.accounts.findAccount(id)) return;
  throw new ServiceCommandError(`there is no account ${id}; see \`edge-control account list\``);
}

/** Prints the result of a command, as JSON or as text. */
export function printResult<T>(
  { stdout }: CliContext,
  options: AdministrationOptions,
  result: T,
  describe: (result: T) => string,
): void {
  stdout.write(`${options.json ? safeJson(result) : describe(sanitizeValue(result))}\n`);
}

/** Formats rows as text with aligned columns. */
export function formatTable(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, column) => Math.max(cell.length, widest[column] ?? 0)),
    [],
  );
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** Formats Unix seconds as `2026-11-20T12:00:00Z`, or `never` for `null`. */
export function formatTimeOrNever(unixSeconds: number | null): string {
  return unixSeconds === null ? "never" : new Date(unixSeconds * 1000).toISOString().replace(".000Z", "Z");
}
