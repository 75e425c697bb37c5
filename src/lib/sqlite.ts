import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createPrivateFile } from "./file-permissions.ts";

export interface SqliteOptions {
  /** Schema changes in order; entry `n` brings the database from version `n` to `n + 1`. Never edited once released. */
  readonly migrations: readonly string[];
  /** Page size of a new database in bytes. Small pages wear less flash per commit. */
  readonly pageSize?: number;
}

const BUSY_TIMEOUT_MS = 5_000;

/** What has to stay free on the disk when a database is rewritten. */
const MIN_FREE_BYTES = 8 * 1024 * 1024;

/** In the header of a database whose file holds nothing that was deleted. Earlier releases left 0 there. */
const SCRUBBED_APPLICATION_ID = 0x65_64_67_65;

/**
 * Opens (or creates) a database in WAL mode with full sync, so that a committed transaction survives a power cut,
 * and brings its schema up to date. What is deleted is overwritten. Throws when the file is not a database, damaged, or
 * of a newer version.
 */
export function openSqlite(path: string, options: SqliteOptions): DatabaseSync {
  // SQLite gives its log and its index the permissions of the database.
  if (path !== ":memory:") createPrivateFile(path);
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    database.exec(`PRAGMA page_size = ${options.pageSize ?? 4096}`);
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    database.exec("PRAGMA secure_delete = ON");
    migrate(database, options.migrations);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Whether the files of a database may hold something that was deleted: an earlier release did not overwrite it, or it was
 * noted with `noteRemains`.
 */
export function hasResidualData(database: DatabaseSync): boolean {
  return database.prepare("PRAGMA application_id").get()?.["application_id"] !== SCRUBBED_APPLICATION_ID;
}

/** Notes in the transaction under way that something is deleted which is to be in no file afterwards. */
export function markResidualData(database: DatabaseSync): void {
  database.exec("PRAGMA application_id = 0");
}

/**
 * Rewrites the database so that its files hold nothing that was deleted: neither its log nor, where rows had been moved
 * from one page to another, free space. After a power cut there is the old database or the new one. Throws when another
 * process is reading, or the disk has no room for a second copy.
 *
 * @param temporary where the copy is made first: `memory`, or a file of the system's
 */
export function scrub(database: DatabaseSync, temporary: "memory" | "file" = "memory"): void {
  requireFreeSpace(database);
  database.exec(`PRAGMA temp_store = ${temporary.toUpperCase()}; VACUUM`);
  if (!truncateWal(database)) throw new Error("another process is reading the database");
  // Only now: after a crash in between it is all done again.
  markScrubbed(database);
}

/** Notes that a file holds nothing that was deleted. Must be true: a fresh copy, or one that was rewritten. */
export function markScrubbed(database: DatabaseSync): void {
  database.exec(`PRAGMA application_id = ${SCRUBBED_APPLICATION_ID}`);
}

/** The copy stands in the log for a while, and may stand in a file before: that must not be what fills the disk. */
function requireFreeSpace(database: DatabaseSync): void {
  const path = database.location();
  if (path === null) return;
  const { bavail, bsize } = statfsSync(dirname(path));
  if (bavail * bsize < 3 * statSync(path).size + MIN_FREE_BYTES)
    throw new Error("the disk has no room for a copy of it");
}

/** Moves the log into the database and empties it. Answers whether it could, without waiting for other processes. */
export function truncateWal(database: DatabaseSync): boolean {
  database.exec("PRAGMA busy_timeout = 0");
  try {
    return database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0;
  } finally {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
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
    if (from === 0) markScrubbed(database);
    database.exec(`PRAGMA user_version = ${migrations.length}`);
  });
}
