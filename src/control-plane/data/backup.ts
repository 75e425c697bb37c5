import { rm, realpath, writeFile } from "node:fs/promises";
import { DatabaseSync } from "node:sqlite";
import { markScrubbed } from "../../lib/sqlite.ts";
import { checkDatabase } from "./check-database.ts";
import { markUnfinishedUncertain } from "./mark-unfinished.ts";
import { moveIntoPlace } from "./durable-file.ts";

/**
 * Copies the database into one file, also while a server works on it: the copy is the database at one instant, and
 * nobody has to wait. In it, unfinished deployments are in doubt: `markCopy`. A file of that name is replaced, but only once the copy is complete and checked. Throws when
 * there is no database, or the target is the database itself.
 *
 * @param database path of the database file
 * @param target path of the copy; readable by its owner only, since hashes of keys are in it
 */
export async function backup(database: string, target: string): Promise<void> {
  const source = await realpath(database).catch(() => {
    throw new Error(`there is no database at ${database}`);
  });
  if ((await realpath(target).catch(() => undefined)) === source) throw new Error(`${target} is the database itself`);
  const unfinished = `${target}.unfinished-${process.pid}`;
  try {
    // Exclusively, so that no link somebody put there is followed.
    await writeFile(unfinished, "", { mode: 0o600, flag: "wx" });
    copy(database, unfinished);
    markCopyScrubbed(unfinished);
    checkDatabase(unfinished);
    markUnfinishedUncertain(unfinished);
    await moveIntoPlace(unfinished, target);
  } finally {
    for (const ending of ["", "-wal", "-shm", "-journal"]) await rm(unfinished + ending, { force: true });
  }
}

function copy(database: string, target: string): void {
  // Not read-only, since then SQLite would leave the files of its log behind.
  const source = new DatabaseSync(database, { timeout: 5_000 });
  try {
    source.prepare("VACUUM INTO ?").run(target);
  } finally {
    source.close();
  }
}

/** A copy made by SQLite has no free space that could hold anything. */
function markCopyScrubbed(path: string): void {
  const database = new DatabaseSync(path);
  try {
    markScrubbed(database);
  } finally {
    database.close();
  }
}
