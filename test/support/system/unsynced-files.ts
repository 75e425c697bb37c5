import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { tempDir } from "../temp-dir.ts";

/**
 * Runs in the process before its program: writes down how much of which file has been synced, when that is so. A file is known
 * by its inode and the time at which it was made, since inodes are used again.
 */
const HOOK = `
const fs = require("node:fs");
const note = (line) => fs.appendFileSync(process.env.SYNCED_FILES, line + "\\n");
const facts = (fd) => {
  const { ino, birthtimeNs, size } = fs.fstatSync(fd, { bigint: true });
  return { key: ino + "-" + birthtimeNs, size };
};
const { fsyncSync } = fs;
fs.fsyncSync = (fd) => {
  const { key, size } = facts(fd);
  fsyncSync(fd);
  note("synced " + key + " " + size);
};
require("node:module").syncBuiltinESMExports();
fs.promises.open(__filename).then(async (handle) => {
  const prototype = Object.getPrototypeOf(handle);
  await handle.close();
  for (const name of ["sync", "datasync"]) {
    const original = prototype[name];
    prototype[name] = async function () {
      // What is appended meanwhile may not be on disk.
      const { key, size } = facts(this.fd);
      await original.call(this);
      note("synced " + key + " " + size);
    };
  }
  const { truncate } = prototype;
  prototype.truncate = async function (length = 0) {
    note("cut " + facts(this.fd).key + " " + length);
    await truncate.call(this, length);
  };
});
`;

const DATABASE = /\.db(?:-\w+)?$/;
const GARBAGE = 0xa5;

/** What a power cut has taken, in bytes. */
export interface PowerLoss {
  readonly kept: number;
  readonly lost: number;
}

/**
 * Knows what of a process's files is on disk for certain, and takes the rest away as a power cut does. Databases are left out:
 * SQLite syncs by itself, and what power cuts do to it is tested elsewhere.
 */
export class UnsyncedFiles implements AsyncDisposable {
  readonly #owned: AsyncDisposableStack;
  readonly #hook: string;
  readonly #journal: string;

  private constructor(directory: string, owned: AsyncDisposableStack) {
    this.#owned = owned;
    this.#hook = join(directory, "synced-files.cjs");
    this.#journal = join(directory, "synced-files");
    writeFileSync(this.#hook, HOOK);
    writeFileSync(this.#journal, "");
  }

  static async watch(): Promise<UnsyncedFiles> {
    await using owned = new AsyncDisposableStack();
    const { path } = owned.use(await tempDir());
    return new UnsyncedFiles(path, owned.move());
  }

  /** Command that runs another one whose files are watched. */
  get wrapper(): readonly string[] {
    return ["env", `NODE_OPTIONS=--require ${this.#hook}`, `SYNCED_FILES=${this.#journal}`];
  }

  /** Bytes below the directory that a power cut would take now. */
  unsyncedIn(directory: string): number {
    return this.#filesIn(directory).reduce((sum, { size, synced }) => sum + size - synced, 0);
  }

  /**
   * Takes from the files of a killed process what was not synced. A file of which nothing was is gone.
   *
   * @param rest what is there instead: nothing, or first a half of it, then bytes that were never written
   */
  loseIn(directory: string, rest: "nothing" | "torn"): PowerLoss {
    const sum = { kept: 0, lost: 0 };
    for (const { path, size, synced } of this.#filesIn(directory)) {
      const kept = rest === "torn" ? synced + Math.floor((size - synced) / 2) : synced;
      sum.kept += kept;
      sum.lost += size - kept;
      if (kept === 0) rmSync(path);
      else truncateSync(path, kept);
      if (kept > 0 && rest === "torn") appendFileSync(path, Buffer.alloc(size - kept, GARBAGE));
    }
    return sum;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }

  #filesIn(directory: string): { path: string; size: number; synced: number }[] {
    const known = this.#synced();
    const entries = readdirSync(directory, { recursive: true, withFileTypes: true });
    return entries.flatMap((entry) => {
      const path = join(entry.parentPath, entry.name);
      // Files go while they are looked at.
      const facts = statSync(path, { bigint: true, throwIfNoEntry: false });
      if (!facts?.isFile() || DATABASE.test(entry.name)) return [];
      const size = Number(facts.size);
      return [{ path, size, synced: Math.min(size, known.get(`${facts.ino}-${facts.birthtimeNs}`) ?? 0) }];
    });
  }

  #synced(): ReadonlyMap<string, number> {
    const sizes = new Map<string, number>();
    for (const line of readFileSync(this.#journal, "utf8").split("\n")) {
      const [what, key = "", size] = line.split(" ");
      if (what === "synced") sizes.set(key, Number(size));
      if (what === "cut") sizes.set(key, Math.min(Number(size), sizes.get(key) ?? 0));
    }
    return sizes;
  }
}
