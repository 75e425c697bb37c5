import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from "node:fs";

/** Room for the last words of every deployment that is going on, and for the database's own bookkeeping. */
const RESERVE_BYTES = 512 * 1024;

/**
 * A file that holds disk space, to be given up when there is none left: what was accepted can then still be brought to
 * its end and recorded.
 */
export class DiskReserve {
  readonly #path: string;
  #isAllocated: boolean;

  /** Takes the space at once, if it is there to be had. */
  constructor(path: string) {
    this.#path = path;
    this.#isAllocated = isWhole(path);
    this.restore();
  }

  /** Whether the space is put by. While it is not, nothing new should be begun. */
  get isAllocated(): boolean {
    return this.#isAllocated;
  }

  /** Gives the space up. Answers whether there was any. */
  release(): boolean {
    if (!this.#isAllocated) return false;
    rmSync(this.#path, { force: true });
    this.#isAllocated = false;
    return true;
  }

  /** Takes the space again. Answers whether it is held now. */
  restore(): boolean {
    if (!this.#isAllocated) this.#isAllocated = allocate(this.#path);
    return this.#isAllocated;
  }
}

function isWhole(path: string): boolean {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) >= RESERVE_BYTES;
}

function allocate(path: string): boolean {
  try {
    const file = openSync(path, "w", 0o600);
    try {
      // Written, not only made that long: a hole holds no space.
      writeSync(file, Buffer.alloc(RESERVE_BYTES, 0xff));
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    if (isWhole(path)) return true;
  } catch {
    // No room: said by the caller, who knows what follows from it.
  }
  rmSync(path, { force: true });
  return false;
}
