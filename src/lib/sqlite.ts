import { statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { createPrivateFile } from "./file-permissions.ts";

export interface SqliteOptions {
  /** Schema changes in order; entry `n` migrates from version `n` to `n + 1`. Never edited after a release. */
  readonly migrations: readonly string[];
  /** Page size of a new database in bytes. Small pages wear less flash per commit. */
  readonly pageSize?: number;
  /**
   * Locks the database for this process until it is closed. SQLite keeps the index of the WAL in memory then, and writes no
   * file for it. Other processes can read it with `openSnapshot`.
   */
  readonly isExclusive?: boolean;
  /**
   * Whether the schema of the next entry, which this program does not know, is one that it can use: the database is left with it.
   * Default: no.
   */
  readonly acceptsNext?: boolean;
  /** Maximum number of entries that an existing database may lack. Default: no maximum. */
  readonly maxPending?: number;
}

/** A program whose schema is too far from this one's has written the database. */
export class ForeignSchemaError extends Error {}

const BUSY_TIMEOUT_MS = 5_000;

/** Must stay free on the disk while a database is rewritten. */
const MIN_FREE_BYTES = 8 * 1024 * 1024;

/** `application_id` of a database without residual data. */
const SCRUBBED_APPLICATION_ID = 0x65_64_67_65;

/**
 * Opens (or creates) a database in WAL mode with full sync, so that a committed transaction survives a power cut, and
 * migrates its schema. Deleted data is overwritten. Throws when the file is not a database, is damaged, or has a
 * schema that is too new or too old.
 */
export function openSqlite(path: string, options: SqliteOptions): DatabaseSync {
  // SQLite creates the WAL and its index with the permissions of the database.
  if (path !== ":memory:") createPrivateFile(path);
  const database = new DatabaseSync(path, { timeout: BUSY_TIMEOUT_MS });
  try {
    // Before the first access: otherwise SQLite has made the file.
    if (options.isExclusive) database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec(`PRAGMA page_size = ${options.pageSize ?? 4096}`);
    database.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON");
    database.exec("PRAGMA secure_delete = ON");
    migrate(database, options);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/**
 * Prepares a statement that SQLite compiles once, whatever values it runs with. SQLite 3.54 compiles a join again for each
 * run if it compares a column with a bare parameter, which takes ten times as long as the run. It does not if an expression
 * is in the parameter's place: `+?` has the same value, type and plan.
 */
export function prepare(database: DatabaseSync, sql: string): StatementSync {
  return database.prepare(sql.replaceAll(LITERAL_OR_PARAMETER, (found) => (found === "?" ? "+?" : found)));
}

const LITERAL_OR_PARAMETER = /'[^']*'|\?/g;

/**
 * Whether the files of a database may contain residual data: since `markResidualData` was called.
 */
export function hasResidualData(database: DatabaseSync): boolean {
  return database.prepare("PRAGMA application_id").get()?.["application_id"] !== SCRUBBED_APPLICATION_ID;
}

/** Records in the current transaction that deleted data must be removed from all files. */
export function markResidualData(database: DatabaseSync): void {
  database.exec("PRAGMA application_id = 0");
}

/**
 * Rewrites the database so that its files contain no residual data: neither in the WAL nor in free space, where rows
 * leave copies when they move between pages. A power cut leaves the old or the new database. Throws when another
 * process is reading, or the disk has no room for a second copy.
 */
export function scrub(database: DatabaseSync): void {
  requireFreeSpace(database);
  database.exec("PRAGMA temp_store = MEMORY; VACUUM");
  if (!truncateWal(database)) throw new Error("another process is reading the database");
  // Last, so that a crash before repeats the whole rewrite.
  markScrubbed(database);
}

/** Records that the files contain no residual data. Only for a new or rewritten database. */
export function markScrubbed(database: DatabaseSync): void {
  database.exec(`PRAGMA application_id = ${SCRUBBED_APPLICATION_ID}`);
}

/** The copy is temporarily in the WAL: it must not fill the disk. */
function requireFreeSpace(database: DatabaseSync): void {
  const path = database.location();
  if (path === null) return;
  const { bavail, bsize } = statfsSync(dirname(path));
  if (bavail * bsize < 3 * statSync(path).size + MIN_FREE_BYTES)
    throw new Error("the disk has no room for a copy of it");
}

/** Checkpoints and truncates the WAL. Returns whether it succeeded, without waiting for other processes. */
export function truncateWal(database: DatabaseSync): boolean {
  database.exec("PRAGMA busy_timeout = 0");
  try {
    return database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.["busy"] === 0;
  } finally {
    database.exec(`PRAGMA busy_timeout = ${BUSY_TIMEOUT_MS}`);
  }
}

/** Runs `work` in one immediate transaction: committed to disk when this returns, rolled back when it throws. */
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

/**
 * Runs `work` in one immediate transaction that is not synced: after a power cut it may be missing, but never while a later
 * transaction is there. Costs no sync.
 */
export function unsyncedTransaction<T>(database: DatabaseSync, work: () => T): T {
  database.exec("PRAGMA synchronous = NORMAL");
  try {
    return transaction(database, work);
  } finally {
    database.exec("PRAGMA synchronous = FULL");
  }
}

function migrate(database: DatabaseSync, options: SqliteOptions): void {
  const { migrations, acceptsNext = false, maxPending = Infinity } = options;
  const version = (): number => Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
  const newest = migrations.length + (acceptsNext ? 1 : 0);
  const isUsable = (from: number): boolean => from >= migrations.length && from <= newest;
  if (isUsable(version())) return;
  transaction(database, () => {
    // Read again within the transaction: another process may have migrated meanwhile.
    const from = version();
    if (isUsable(from)) return;
    if (from > newest)
      throw new ForeignSchemaError(`the database has schema version ${from}, this program knows up to ${newest}`);
    if (from > 0 && migrations.length - from > maxPending)
      throw new ForeignSchemaError(
        `the database has schema version ${from}, and may be at most ${maxPending} behind ${migrations.length}`,
      );
    for (const migration of migrations.slice(from)) database.exec(migration);
    if (from === 0) markScrubbed(database);
    database.exec(`PRAGMA user_version = ${migrations.length}`);
  });
}
