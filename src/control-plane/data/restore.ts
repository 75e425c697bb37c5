import { constants } from "node:fs";
import { access, chmod, copyFile, rename, rm } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { openSqlite } from "../../lib/sqlite.ts";
import { MIGRATIONS } from "../store/sqlite/migrations.ts";
import { checkDatabase } from "./check-database.ts";
import { markUnfinishedUncertain } from "./mark-unfinished.ts";
import { moveIntoPlace } from "./durable-file.ts";

/** What the names of a database's files end with; the log comes first. */
const DATABASE_SUFFIXES = ["-wal", "-shm", ""];

/**
 * Puts a backup in the place of the database. The backup is copied, checked and brought up to date first, and the
 * deployments that are unfinished in it are in doubt from then on: devices are asked what became of them. The backup itself
 * stays as it is; what is replaced is kept beside
 * it under another name, which is answered, or `undefined` when there was no database. The caller holds the data
 * directory's lock. Throws for a file that is no sound backup; nothing has changed then.
 *
 * @param database path of the database file
 * @param suffix what the replaced database's name gets, such as `.replaced-2026-11-20T12-00-00Z`
 */
export async function restore(file: string, database: string, suffix: string): Promise<string | undefined> {
  const incoming = `${database}.restoring`;
  try {
    await copyFile(file, incoming);
    await chmod(incoming, 0o600);
    checkDatabase(incoming);
    // Up to date first, since an earlier schema cannot say what is in doubt.
    openSqlite(incoming, { migrations: MIGRATIONS }).close();
    markUnfinishedUncertain(incoming);
    const replaced = (await exists(database)) ? database + suffix : undefined;
    if (replaced !== undefined) await moveAside(database, replaced);
    await moveIntoPlace(incoming, database);
    return replaced;
  } finally {
    // A raw copy of a database makes SQLite put a log beside it to read it.
    for (const ending of DATABASE_SUFFIXES) await rm(incoming + ending, { force: true });
  }
}

async function moveAside(database: string, replaced: string): Promise<void> {
  checkpointWal(database);
  // The log before the database: a log left alone beside the restored database would be taken for that one's own.
  for (const ending of DATABASE_SUFFIXES) {
    if (await exists(database + ending)) await rename(database + ending, replaced + ending);
  }
}

/** Writes what stands in the log into the database, so that its file is all of it. */
function checkpointWal(database: string): void {
  try {
    const connection = new DatabaseSync(database, { timeout: 5_000 });
    try {
      connection.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    } finally {
      connection.close();
    }
  } catch {
    // Damaged, which may be why it is being replaced: then the log is kept beside it as it is.
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path, constants.F_OK).then(
    () => true,
    () => false,
  );
}
