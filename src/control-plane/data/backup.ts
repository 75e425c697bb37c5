import { mkdir, readdir, rm, realpath, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { markScrubbed } from "../../lib/sqlite.ts";
import { MIGRATIONS } from "../store/sqlite/migrations.ts";
import { checkDatabase } from "./check-database.ts";
import { moveIntoPlace } from "./durable-file.ts";

/**
 * Copies a consistent snapshot of the database into one file, without blocking a server that uses it. The outcomes of
 * unfinished deployments are uncertain in the copy. An existing target is replaced after the copy has been checked.
 * Throws when there is no database, or the target is the database itself.
 *
 * @param database path of the database file
 * @param target path of the copy; readable by its owner only, since it contains hashes of keys
 */
export async function backup(database: string, target: string): Promise<void> {
  const source = await realpath(database).catch(() => {
    throw new Error(`there is no database at ${database}`);
  });
  // Does not exist yet.
  if ((await realpath(target).catch(() => undefined)) === source) throw new Error(`${target} is the database itself`);
  const unfinished = `${target}.unfinished-${process.pid}`;
  try {
    // Exclusively, so that a symbolic link at this path is not followed.
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

const BACKUP_OF_A_TIME = /^edge-control-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.db$/;

/**
 * As `backup`, into a file that is named after the time, in a directory that is created if missing. Removes the oldest of such files
 * but `keep`, by their names, once the new one is there. Returns the path of the new one.
 */
export async function backupInto(database: string, directory: string, keep: number, nowMs: number): Promise<string> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const time = new Date(nowMs)
    .toISOString()
    .replace(/\.\d+Z$/, "Z")
    .replaceAll(":", "-");
  const name = `edge-control-${time}.db`;
  await backup(database, join(directory, name));
  const others = (await readdir(directory)).filter((each) => BACKUP_OF_A_TIME.test(each) && each !== name);
  // A clock that was set back must not have the new one removed.
  for (const old of others.toSorted().slice(0, Math.max(0, others.length - keep + 1)))
    await rm(join(directory, old), { force: true });
  return join(directory, name);
}

function copy(database: string, target: string): void {
  // Not read-only, since SQLite would leave its log files behind.
  const source = new DatabaseSync(database, { timeout: 5_000 });
  try {
    source.prepare("VACUUM INTO ?").run(target);
  } finally {
    source.close();
  }
}

/** `VACUUM INTO` copies no free space, so the copy has no residual data. */
function markCopyScrubbed(path: string): void {
  const database = new DatabaseSync(path);
  try {
    markScrubbed(database);
  } finally {
    database.close();
  }
}

/**
 * Marks the outcomes of unfinished deployments in a copy of the database as uncertain. A server that starts with the copy
 * queries the devices for them. Does nothing for another schema version; `restore` migrates the copy first.
 */
export function markUnfinishedUncertain(path: string): void {
  const database = new DatabaseSync(path, { timeout: 5_000 });
  try {
    const version = Number(database.prepare("PRAGMA user_version").get()?.["user_version"]);
    if (version !== MIGRATIONS.length) return;
    database.exec("UPDATE deployments SET uncertainty = 'backup', version = version + 1 WHERE status = 'Running'");
  } finally {
    database.close();
  }
}
