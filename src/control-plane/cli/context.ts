import type { Command } from "commander";
import type { Clock } from "../../lib/clock.ts";
import type { Config } from "../config/config.ts";
import type { CopiedRows } from "../data/copy/copy.ts";
import type { Database } from "../config/database-config.ts";
import type { PostgresOptions } from "../store/postgres/options.ts";
import type { Store } from "../store/store.ts";

/** The services that commands use. */
export interface CliContext {
  /** Opens the store in a database. Throws on failure, and `CommandError` if a data directory has none. */
  readonly openStore: (database: Database) => Promise<Store>;
  /** Serves until the process receives a signal to stop. Throws when it cannot start. */
  readonly serve: (config: Config, options: ServeOptions) => Promise<void>;
  readonly database: DatabaseCommands;
  readonly clock: Clock;
  readonly stdout: { write(text: string): unknown };
}

/** What is done to a database as a whole. */
export interface DatabaseCommands {
  /** Migrates a PostgreSQL database. Returns its schema version before and after. */
  readonly migrate: (options: PostgresOptions) => Promise<{ readonly from: number; readonly to: number }>;
  /**
   * Copies a data directory into a PostgreSQL database. Returns what both have; `undefined` if it was copied before.
   *
   * @param target the database, for people
   */
  readonly copy: (dataDir: string, to: PostgresOptions, target: string) => Promise<readonly CopiedRows[] | undefined>;
  /** Marks the outcomes of unfinished deployments in a PostgreSQL database as uncertain. Returns how many there are. */
  readonly markRestored: (options: PostgresOptions) => Promise<number>;
  /** Copies the database in a data directory into a file. Throws as `openStore` does. */
  readonly backup: (dataDir: string, file: string) => Promise<void>;
  /** As `backup`, into a new file of a directory, in which the newest ones stay. Returns its path. */
  readonly backupInto: (dataDir: string, directory: string, keep: number) => Promise<string>;
  /**
   * Replaces the database in a data directory with a backup. Returns the path of the replaced database, or `undefined`
   * when there was none. Throws while a server uses the directory, and when the file is not a valid backup.
   *
   * @param isNamed whether the data directory was named. It is then created if missing; the default one is not.
   */
  readonly restore: (dataDir: string, file: string, isNamed: boolean) => Promise<string | undefined>;
}

export interface ServeOptions {
  /** Whether to serve a data directory that was copied to another database. */
  readonly mayServeCopied: boolean;
}

/** Adds one command, or a group of them, to the program. */
export type AddCommand = (program: Command, context: CliContext) => void;

/** A command cannot be carried out. The message says why and what to do. */
export class ServiceCommandError extends Error {
  override readonly name = "CommandError";
}
