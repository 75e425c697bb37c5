import { chownSync, closeSync, fchmodSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname } from "node:path";

export interface WriteOptions {
  /** Permissions, whatever the umask says. */
  readonly mode: number;
  /** Who it is to belong to; by default whoever writes it. */
  readonly owner?: { readonly uid: number; readonly gid: number };
}

/**
 * Writes a file so that, whatever happens, there is either the old one or the whole new one under its name. On disk
 * when this returns. Throws where it cannot be written.
 */
export function writeAtomically(path: string, content: string | Uint8Array, { mode, owner }: WriteOptions): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    // Removed first: one that somebody else left must not lend its permissions.
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
