import { accessSync, constants, lchownSync, lstatSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { join, resolve } from "node:path";
import { listNames, restrictPermissions, type PermissionChange } from "../../lib/file-permissions.ts";

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

/** What a server opens. */
const USED = [DATABASE, `${DATABASE}-wal`, `${DATABASE}-shm`, LOCK];
/** The address at which the console was served last, for links that commands make. */
const CONSOLE_URL_FILE = "console-url";
const isManaged = (name: string): boolean => [DATABASE, LOCK, CONSOLE_URL_FILE].some((own) => name.startsWith(own));

/** A file of the data directory belongs to another user. The message says which, and the command that mends it. */
class ForeignFileError extends Error {
  override readonly name = "ForeignFileError";
}

/**
 * Creates the data directory if missing and removes the permissions of other users, since its files are only for the
 * server's user. Root gives them to the owner of the directory. Returns its paths.
 *
 * @throws {ForeignFileError} if this user cannot use one of the files
 */
export function prepareDataDir(path: string): DataDir {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  const directory = realpathSync(path);
  giveToOwner(path);
  const permissionChanges = restrictPermissions({ directory, directoryMode: 0o700, fileMode: 0o600, isManaged });
  for (const name of USED) requireUsable(join(directory, name), directory);
  return { database: resolve(join(path, DATABASE)), lock: join(path, LOCK), permissionChanges };
}

/**
 * As `prepareDataDir`, for a directory in which a server has created its database. Returns `undefined`, and creates
 * nothing, if there is none. Throws if the directory cannot be read.
 */
export function findDataDir(path: string): DataDir | undefined {
  return statSync(join(path, DATABASE), { throwIfNoEntry: false }) && prepareDataDir(path);
}

/**
 * Says why the database must not be opened: its file is there without content, as a power cut or a full disk may leave it.
 * Opened, it would be a new service that knows no account and no device. `undefined`: there is none, or it has content.
 */
export function explainEmptyDatabase({ database }: DataDir): string | undefined {
  if (statSync(database, { throwIfNoEntry: false })?.size !== 0) return undefined;
  return `${database} is empty: restore a backup with edge-control restore, or remove the file to begin with a new database`;
}

/** Gives the files of a data directory to its owner if root has made them: the server could not use them. */
export function giveToOwner(path: string): void {
  if (process.geteuid?.() !== 0) return;
  const directory = realpathSync(path);
  const { uid, gid } = statSync(directory);
  for (const name of listNames(directory).filter(isManaged)) {
    const file = lstatSync(join(directory, name), { throwIfNoEntry: false });
    // Not what may be another file of root's.
    if (file?.isFile() && file.nlink === 1 && file.uid === 0 && uid !== 0) lchownSync(join(directory, name), uid, gid);
  }
}

function requireUsable(file: string, directory: string): void {
  try {
    accessSync(file, constants.R_OK | constants.W_OK);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EACCES") return;
    throw new ForeignFileError(
      `${file} belongs to another user: run chown --reference=${directory} ${directory}/* as root, or this command as that user`,
    );
  }
}
