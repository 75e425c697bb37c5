import { DatabaseSync } from "node:sqlite";
import { createPrivateFile } from "./file-permissions.ts";

/**
 * Locks a directory for this process. Returns `undefined` if another process has the lock. It is a kernel lock on an
 * open file, taken through SQLite, and is released when the process ends in any way.
 *
 * @param path of the lock file, created if missing; its content has no meaning
 */
export function tryLock(path: string): Disposable | undefined {
  createPrivateFile(path);
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE");
  } catch (error) {
    database.close();
    if (error instanceof Error && (error as Error & { errcode?: number }).errcode === SQLITE_BUSY) return undefined;
    throw error;
  }
  return { [Symbol.dispose]: () => database.close() };
}

const SQLITE_BUSY = 5;
