import {
  closeSync,
  fchmodSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { dirname } from "node:path";

/** Changes of the disk, each of which a kill may follow. Paths are absolute. */
export interface Disk {
  makeFolder(path: string): void;
  /** Creates a file; fails if there is one. */
  create(path: string, mode: number): NewFile;
  /** Creates a symbolic link; fails if there is something of this name. */
  link(target: string, path: string): void;
  /** Gives a file a further name; fails if that is there. @returns whether the file system can */
  share(file: string, path: string): boolean;
  /** Replaces what is there, and flushes the folder's entries. */
  rename(from: string, to: string): void;
  remove(path: string): void;
  /** Flushes a folder's entries. */
  sync(folder: string): void;
  freeBytes(folder: string): number;
}

/** A file that is being written. Disposing it closes it. */
export interface NewFile extends Disposable {
  write(bytes: Uint8Array): void;
  /** Flushes it to stable storage, but for its name in the folder. */
  sync(): void;
}

export const nodeDisk: Disk = {
  makeFolder(path) {
    mkdirSync(path, { mode: 0o755 });
  },
  create(path, mode) {
    const file = openSync(path, "wx", mode);
    // Independent of the umask.
    fchmodSync(file, mode);
    return {
      write(bytes) {
        for (let rest = bytes; rest.length > 0;) rest = rest.subarray(writeSync(file, rest));
      },
      sync: () => fsyncSync(file),
      [Symbol.dispose]: () => closeSync(file),
    };
  },
  link: symlinkSync,
  share(file, path) {
    try {
      linkSync(file, path);
      return true;
    } catch (error) {
      const { code = "" } = error as NodeJS.ErrnoException;
      // Another file system or mount, as that of the package; or one that cannot, as FAT.
      if (["EXDEV", "EPERM", "EMLINK", "ENOTSUP"].includes(code)) return false;
      throw error;
    }
  },
  rename(from, to) {
    renameSync(from, to);
    nodeDisk.sync(dirname(to));
  },
  remove(path) {
    rmSync(path, { recursive: true, force: true });
  },
  sync(folder) {
    const handle = openSync(folder, "r");
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  },
  freeBytes(folder) {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  },
};
