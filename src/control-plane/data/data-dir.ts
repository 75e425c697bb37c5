import { mkdirSync, realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { restrictPermissions, type PermissionChange } from "../../lib/file-permissions.ts";

/** Where things are in a data directory. */
export interface DataDir {
  /** The database file. SQLite keeps its log beside it. */
  readonly database: string;
  /** Held by the server that works on the directory. */
  readonly lock: string;
  /** What other users could read or change before this call. */
  readonly permissionChanges: readonly PermissionChange[];
}

const DATABASE = "edge-control.sqlite";
const LOCK = "server.lock";

/**
 * The places in a data directory, which is created if missing. Everything in it is for the server's own user: other
 * users lose what they could do with it.
 */
export function prepareDataDir(path: string): DataDir {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const mended = restrictPermissions({
    directory: realpathSync(path),
    directoryMode: 0o700,
    fileMode: 0o600,
    isManaged: (name) => name.startsWith(DATABASE) || name.startsWith(LOCK),
  });
  return { database: resolve(join(path, DATABASE)), lock: join(path, LOCK), permissionChanges: mended };
}
