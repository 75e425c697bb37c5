import { existsSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createPrivateFile } from "./file-permissions.ts";
import { isReadOnlyDisk } from "./read-only-disk.ts";

/**
 * Locks a directory for this process. Returns `undefined` if another process has the lock. It is a kernel lock on an
 * open file, taken through SQLite, and is released when the process ends in any way. On a disk that is read-only it keeps out
 * only processes that began when it could be written, and those that begin when it can be again.
 *
 * @param path of the lock file, created if missing; its content has no meaning
 */
export function tryLock(path: string): Disposable | undefined {
  createPrivateFile(path);
  try {
    return lock(path, "BEGIN EXCLUSIVE");
  } catch (error) {
    if (!isReadOnlyDisk(dirname(path))) throw error;
    return existsSync(path) ? lock(path, "BEGIN; SELECT count(*) FROM sqlite_schema") : { [Symbol.dispose]: () => {} };
  }
}

/** Locks a file by statements; `undefined` if another process has it. */
function lock(path: string, statements: string): Disposable | undefined {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec(`PRAGMA locking_mode = EXCLUSIVE; ${statements}`);
  } catch (error) {
    database.close();
    if (error instanceof Error && (error as Error & { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  return { [Symbol.dispose]: () => database.close() };
}

const SQLITE_BUSY = 5;
