import {
  chownSync,
  closeSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";

/** The name of a file that is not complete yet, with the process that writes it. */
const TEMPORARY = /\.(?<pid>\d+)\.tmp$/;

export interface WriteOptions {
  /** Permissions, independent of the umask. */
  readonly mode: number;
  /** Owner; by default this process's user. */
  readonly owner?: { readonly uid: number; readonly gid: number };
}

/**
 * Replaces a file atomically: after a crash or power cut it is the old or the new one. On disk when this returns. What a crash has
 * left of an earlier write of the file is removed.
 */
export function writeAtomically(path: string, content: string | Uint8Array, { mode, owner }: WriteOptions): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    // Also one of this name: it would keep its owner and permissions.
    removeAbandoned(dirname(path), `${basename(path)}.`);
    const file = openSync(temporary, "wx", mode);
    try {
      fchmodSync(file, mode);
      for (let rest = Buffer.from(content); rest.length > 0;) rest = rest.subarray(writeSync(file, rest));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (owner) chownSync(temporary, owner.uid, owner.gid);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncDirectory(dirname(path));
}

/**
 * Removes what crashes have left in a directory of files that are written with `writeAtomically`: incomplete files of processes that
 * have ended. Those of this process are left over too, since it writes without a pause. Never throws: what cannot be removed stays, so
 * that a user who may create files in the directory cannot keep others from writing theirs.
 *
 * @param prefix how the names begin
 */
export function removeAbandoned(directory: string, prefix = ""): void {
  let names: string[];
  try {
    names = readdirSync(directory);
  } catch {
    return;
  }
  for (const name of names) {
    const pid = Number(TEMPORARY.exec(name)?.groups?.["pid"]);
    if (!name.startsWith(prefix) || Number.isNaN(pid) || (pid !== process.pid && isRunning(pid))) continue;
    try {
      rmSync(join(directory, name), { force: true });
    } catch {
      // Such as a directory of that name.
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    // A process of another user may not be asked.
    return (error as NodeJS.ErrnoException).code !== "ESRCH";
  }
}

function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
