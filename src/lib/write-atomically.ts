import { chownSync, closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";

export interface WriteOptions {
  /** Permissions, independent of the umask. */
  readonly mode: number;
  /** Owner; by default this process's user. */
  readonly owner?: { readonly uid: number; readonly gid: number };
}

/** Replaces a file atomically: after a crash or power cut it is the old or the new one. On disk when this returns. */
export function writeAtomically(path: string, content: string | Uint8Array, { mode, owner }: WriteOptions): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    // Removed first: an existing file would keep its owner and permissions.
    rmSync(temporary, { force: true });
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

function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
