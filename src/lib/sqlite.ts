import { DatabaseSync } from "node:sqlite";
import { createPrivate } from "./private-files.ts";

export interface SqliteOptions {
  /** Schema changes in order; entry `n` brings the database from version `n` to `n + 1`. Never edited once released. */
  readonly migrations: readonly string[];
  /** Page size of a new database in bytes. Small pages wear less flash per commit. */
  readonly pageSize?: number;
}

/**
 * Opens (or creates) a database in WAL mode with full sync, so that a committed transaction survives a power cut,
 * and brings its schema up to date. Throws when the file is not a database, damaged, or of a newer version.
 */
export function openSqlite(path: string, options: SqliteOptions): DatabaseSync {
  // SQLite gives its log and its index the permissions of the database.
  if (path !== ":memory:") createPrivate(path);
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    database.exec(`PRAGMA page_size = ${options.pageSize ?? 4096}`);
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    migrate(database, options.migrations);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Runs `work` in one immediate transaction: all of it is on disk when this returns, or none of it when it throws. */
export function transaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK");
    throw error;
  }
}

function migrate(database: DatabaseSync, migrations: readonly string[]): void {
  const version = (): number => Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
  if (version() === migrations.length) return;
  transaction(database, () => {
    // Read again under the lock: another process may have migrated meanwhile.
    const from = version();
    if (from > migrations.length) {
      throw new Error(`the database has schema version ${from}, this program knows up to ${migrations.length}`);
    }
    for (const migration of migrations.slice(from)) database.exec(migration);
    database.exec(`PRAGMA user_version = ${migrations.length}`);
  });
}
