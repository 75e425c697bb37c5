import { DatabaseSync } from "node:sqlite";
import { createPrivateFile } from "./file-permissions.ts";

/**
 * Takes a directory for this process alone, or answers `undefined` when another process has it. The lock is one of the
 * kernel's on an open file, held through SQLite: it goes with the process, however that ends.
 *
 * @param path of the lock file, created if missing; its content means nothing
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
