import { constants } from "node:fs";
import { access, chmod, copyFile, readdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqlite } from "../../lib/sqlite.ts";
import { MIGRATIONS } from "../store/sqlite/migrations.ts";
import { startEventsAnew } from "../store/sqlite/account-events.ts";
import { checkDatabase } from "./check-database.ts";
import { markUnfinishedUncertain } from "./backup.ts";
import { giveToOwner } from "./data-dir.ts";
import { moveIntoPlace } from "./durable-file.ts";

/** Replaced databases that stay. */
const MAX_REPLACED = 2;
/** Suffixes of a database's files, the write-ahead log first. */
const DATABASE_SUFFIXES = ["-wal", "-shm", ""];

/**
 * Restores a backup. It is copied, checked and migrated first, the outcomes of its unfinished deployments are marked as
 * uncertain, and its users are signed out. The caller holds the data directory's lock. Throws when the backup is not valid;
 * nothing has changed then.
 *
 * @param database path of the database file
 * @param suffix appended to the name of the replaced database, such as `.replaced-2026-11-20T12-00-00Z`
 * @returns path of the replaced database, or `undefined` when there was none
 */
export async function restore(file: string, database: string, suffix: string): Promise<string | undefined> {
  const incoming = `${database}.restoring`;
  try {
    await copyFile(file, incoming);
    await chmod(incoming, 0o600);
    checkDatabase(incoming);
    // Migrated first, since an earlier schema cannot record uncertain outcomes.
    const migrated = openSqlite(incoming, { migrations: MIGRATIONS });
    // Each may have been ended, or used, since the backup was made. Their users sign in again.
    migrated.exec(
      "DELETE FROM user_sessions; DELETE FROM browser_tokens; DELETE FROM login_requests; DELETE FROM idempotent_requests; " +
        "DELETE FROM one_time_codes WHERE used_at IS NULL",
    );
    startEventsAnew(migrated);
    migrated.close();
    markUnfinishedUncertain(incoming);
    const replaced = (await exists(database)) ? database + suffix : undefined;
    if (replaced !== undefined) await moveAside(database, replaced);
    // Root may restore; the server that opens it is not root.
    giveToOwner(dirname(database));
    await moveIntoPlace(incoming, database);
    await removeReplaced(database, [database + suffix, file]);
    return replaced;
  } finally {
    // SQLite creates log files beside a copied database when it reads it.
    for (const ending of DATABASE_SUFFIXES) await rm(incoming + ending, { force: true });
  }
}

async function moveAside(database: string, replaced: string): Promise<void> {
  checkpointWal(database);
  // The log first: SQLite would apply an old log to the restored database.
  for (const ending of DATABASE_SUFFIXES) {
    if (await exists(database + ending)) await rename(database + ending, replaced + ending);
  }
}

/** Removes what earlier restores have replaced, but for the newest and those that are used. Each is as large as the database. */
async function removeReplaced(database: string, used: readonly string[]): Promise<void> {
  const prefix = `${basename(database)}.replaced-`;
  const names = (await readdir(dirname(database))).filter((name) => name.startsWith(prefix));
  const paths = new Set(names.map((name) => join(dirname(database), name.replace(/-(?:wal|shm)$/, ""))));
  const usedPaths = new Set(used.map((path) => resolve(path)));
  const others = [...paths].filter((path) => !usedPaths.has(resolve(path))).toSorted();
  for (const path of others.slice(0, 1 - MAX_REPLACED))
    for (const ending of DATABASE_SUFFIXES) await rm(path + ending, { force: true });
}

/** Writes the content of the log into the database file. */
function checkpointWal(database: string): void {
  try {
    const connection = new DatabaseSync(database, { timeout: 5_000 });
    try {
      connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } finally {
      connection.close();
    }
  } catch {
    // Possibly damaged, which may be why it is being replaced. Its log is kept with it.
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
}
