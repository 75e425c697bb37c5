import { chmodSync, closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

const STICKY_BIT = 0o1000;
const GROUP_OTHER_WRITE = 0o022;

export interface PermissionLimits {
  readonly directory: string;
  /** Maximum permissions of the directory. 0777 leaves it unchanged. */
  readonly directoryMode: number;
  /** Maximum permissions of its files. */
  readonly fileMode: number;
  /** Selects the directory's entries to restrict, by name. */
  readonly isManaged: (name: string) => boolean;
}

/** A file or directory that lost permissions. */
export interface PermissionChange {
  readonly path: string;
  readonly before: number;
  readonly after: number;
}

/**
 * Removes excess permissions from a directory and the regular files directly in it, and returns the changes. Never adds
 * permissions and never follows symbolic links. Skips files with several hard links, files of other users, and
 * directories with the sticky bit, which are shared. Opens no file: closing it would release this process's locks on
 * it.
 */
export function restrictPermissions({
  directory,
  directoryMode,
  fileMode,
  isManaged,
}: PermissionLimits): PermissionChange[] {
  const changes = restrictDirectory(directory, directoryMode);
  // If others can replace entries, the checked file may not be the changed one.
  if (!isTrustedDirectory(directory)) return changes;
  const names = listNames(directory).filter(isManaged);
  return [...changes, ...names.flatMap((name) => restrictFile(join(directory, name), fileMode))];
}

/**
 * Creates an empty file that only its owner can access, unless the path exists. Errors are ignored: the next use
 * reports them.
 */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {
    // Usually: the file exists.
  }
}

/** Formats changes for a log: `agent.db 0644 -> 0600`. At most `limit`, then the number of the others. */
export function describePermissionChanges(changes: readonly PermissionChange[], limit = 20): string[] {
  const shown = changes.slice(0, limit).map(({ path, before, after }) => `${path} ${octal(before)} -> ${octal(after)}`);
  return changes.length > limit ? [...shown, `and ${changes.length - limit} more`] : shown;
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

function restrictDirectory(path: string, maxMode: number): PermissionChange[] {
  try {
    const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      const before = fstatSync(fd).mode & 0o7777;
      const after = before & (maxMode | 0o7000);
      if (after === before || (before & STICKY_BIT) !== 0) return [];
      fchmodSync(fd, after);
      return [{ path, before, after }];
    } finally {
      closeSync(fd);
    }
  } catch {
    // Missing, or owned by another user.
    return [];
  }
}

function isTrustedDirectory(path: string): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  const isTrusted = stat !== undefined && (stat.uid === 0 || stat.uid === process.geteuid?.());
  return isTrusted && stat.isDirectory() && (stat.mode & GROUP_OTHER_WRITE) === 0;
}

function restrictFile(path: string, maxMode: number): PermissionChange[] {
  try {
    const stat = lstatSync(path);
    const mode = stat.mode & 0o7777;
    if (!stat.isFile() || stat.nlink !== 1 || (mode & ~maxMode) === 0) return [];
    chmodSync(path, mode & maxMode);
    return [{ path, before: mode, after: mode & maxMode }];
  } catch {
    // Removed meanwhile, or owned by another user.
    return [];
  }
}

/** Returns the names in a directory; none if it cannot be read. */
export function listNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
