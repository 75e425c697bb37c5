import { mkdirSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { restrictPermissions, type PermissionChange } from "../../lib/file-permissions.ts";

/** Paths in a data directory. */
export interface DataDir {
  /** The database file. SQLite keeps its log beside it. */
  readonly database: string;
  /** Lock file of the server that uses the directory. */
  readonly lock: string;
  /** The permissions of other users that were removed. */
  readonly permissionChanges: readonly PermissionChange[];
}

const DATABASE = "edge-control.sqlite";
const LOCK = "server.lock";

/**
 * Creates the data directory if missing and removes the permissions of other users, since its files are only for the
 * server's user. Returns its paths.
 */
export function prepareDataDir(path: string): DataDir {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const permissionChanges = restrictPermissions({
    directory: realpathSync(path),
    directoryMode: 0o700,
    fileMode: 0o600,
    isManaged: (name) => name.startsWith(DATABASE) || name.startsWith(LOCK),
  });
  return { database: resolve(join(path, DATABASE)), lock: join(path, LOCK), permissionChanges };
}

/**
 * As `prepareDataDir`, for a directory in which a server has created its database. Returns `undefined`, and creates
 * nothing, if there is none. Throws if the directory cannot be read.
 */
export function findDataDir(path: string): DataDir | undefined {
  return statSync(join(path, DATABASE), { throwIfNoEntry: false }) && prepareDataDir(path);
}
