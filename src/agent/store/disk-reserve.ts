import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from "node:fs";

/** Space for the final events of pending deployments, and for the database's own writes. */
const RESERVE_BYTES = 512 * 1024;

/**
 * A file that reserves disk space. It is released when the disk is full, so that accepted deployments can still be
 * finished and recorded.
 */
export class DiskReserve {
  readonly #path: string;
  #isAllocated: boolean;

  /** Reserves the space at once, if available. */
  constructor(path: string) {
    this.#path = path;
    this.#isAllocated = hasFullSize(path);
    this.restore();
  }

  /** Whether the space is reserved. While it is not, nothing new should be started. */
  get isAllocated(): boolean {
    return this.#isAllocated;
  }

  /** Releases the space. Returns whether any was reserved. */
  release(): boolean {
    if (!this.#isAllocated) return false;
    rmSync(this.#path, { force: true });
    this.#isAllocated = false;
    return true;
  }

  /** Tries to reserve the space again. Returns whether it is reserved now. */
  restore(): boolean {
    if (!this.#isAllocated) this.#isAllocated = allocate(this.#path);
    return this.#isAllocated;
  }
}

function hasFullSize(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= RESERVE_BYTES;
}

function allocate(path: string): boolean {
  try {
    const file = openSync(path, "w", 0o600);
    try {
      // Written instead of truncated to size: a sparse file reserves no space.
      writeSync(file, Buffer.alloc(RESERVE_BYTES, 0xff));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (hasFullSize(path)) return true;
  } catch {
    // No space: the caller reports it.
  }
  rmSync(path, { force: true });
  return false;
}
