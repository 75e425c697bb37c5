import { chmodSync, closeSync, constants, fchmodSync, fstatSync, lstatSync, openSync, readdirSync } from "node:fs";
import { join } from "node:path";

const { O_DIRECTORY, O_NOFOLLOW, O_RDONLY } = constants;

const STICKY_BIT = 0o1000;
const GROUP_OTHER_WRITE = 0o022;

export interface PermissionLimits {
  readonly directory: string;
  /** Permissions the directory may keep. 0777 leaves it as it is. */
  readonly directoryMode: number;
  /** Permissions its files may keep. */
  readonly fileMode: number;
  /** Which of its entries to look at, by name. */
  readonly isManaged: (name: string) => boolean;
}

/** A file or directory that lost permissions. */
export interface PermissionChange {
  readonly path: string;
  readonly before: number;
  readonly after: number;
}

/**
 * Takes permissions away from a directory and the regular files directly in it, and returns what had more. Never adds
 * any, never follows a symbolic link, and leaves alone what has a second name (hard link), what belongs to somebody else,
 * and directories with the sticky bit, which others share. Opens no file: closing one would release the locks that this
 * process has on it.
 */
export function restrictPermissions({
  directory,
  directoryMode,
  fileMode,
  isManaged,
}: PermissionLimits): PermissionChange[] {
  const mended = restrictDirectory(directory, directoryMode);
  // While others can exchange its entries, what is looked at may not be what is changed.
  if (!isTrustedDirectory(directory)) return mended;
  const names = listNames(directory).filter(isManaged);
  return [...mended, ...names.flatMap((name) => restrictFile(join(directory, name), fileMode))];
}

/** Creates an empty file for its owner alone, where there is nothing of that name. What cannot be created its user tells. */
export function createPrivateFile(path: string): void {
  try {
    closeSync(openSync(path, "wx", 0o600));
  } catch {
    // Mostly: it is there.
  }
}

/** `agent.db 0644 -> 0600`, for a log. At most `limit`, and then how many more. */
export function describePermissionChanges(mended: readonly PermissionChange[], limit = 20): string[] {
  const shown = mended.slice(0, limit).map(({ path, before, after }) => `${path} ${octal(before)} -> ${octal(after)}`);
  return mended.length > limit ? [...shown, `and ${mended.length - limit} more`] : shown;
}

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}

function restrictDirectory(path: string, keep: number): PermissionChange[] {
  try {
    const fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      const before = fstatSync(fd).mode & 0o7777;
      const after = before & (keep | 0o7000);
      if (after === before || (before & STICKY_BIT) !== 0) return [];
      fchmodSync(fd, after);
      return [{ path, before, after }];
    } finally {
      closeSync(fd);
    }
  } catch {
    // There is none, or it belongs to somebody else.
    return [];
  }
}

function isTrustedDirectory(path: string): boolean {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  const isTrusted = facts !== undefined && (facts.uid === 0 || facts.uid === process.geteuid?.());
  return isTrusted && facts.isDirectory() && (facts.mode & GROUP_OTHER_WRITE) === 0;
}

function restrictFile(path: string, keep: number): PermissionChange[] {
  try {
    const facts = lstatSync(path);
    const mode = facts.mode & 0o7777;
    if (!facts.isFile() || facts.nlink !== 1 || (mode & ~keep) === 0) return [];
    chmodSync(path, mode & keep);
    return [{ path, before: mode, after: mode & keep }];
  } catch {
    // It has gone meanwhile, or belongs to somebody else.
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
