import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import type { FileHandle } from "node:fs/promises";

/** Thrown by each change of the disk once the process has died. */
class Died extends Error {
  override readonly name = "Died";
}

const SYNC = ["mkdirSync", "chmodSync", "renameSync", "rmSync"] as const;
const PROMISED = ["mkdir", "rm", "rename"] as const;
const OF_HANDLES: ReadonlySet<string | symbol> = new Set([
  "write",
  "writev",
  "writeFile",
  "truncate",
  "sync",
  "datasync",
  "chmod",
]);

/**
 * Simulates a process that dies at the n-th change below a directory: that one is not made, or only half of it where bytes are
 * written, and none after it is. What the process had written by then stays, as after a kill.
 */
export class DyingDisk implements Disposable {
  /** Path of the change at which it died; `undefined`: it has not. */
  diedAt: string | undefined;
  /** Changes so far. */
  changes = 0;
  readonly #root: string;
  readonly #at: number;
  readonly #restore: (() => void)[] = [];

  constructor(root: string, at: number) {
    this.#root = root;
    this.#at = at;
    for (const name of SYNC) this.#replace(fs, name, (path) => this.#change(path));
    for (const name of PROMISED) this.#replace(fs.promises, name, async (path) => this.#change(path));
    const { open } = fs.promises;
    fs.promises.open = async (path, flags, mode) => {
      const isChange = flags !== undefined && flags !== "r";
      if (isChange && this.#isBelow(path)) this.#change(String(path));
      const file = await open(path, flags, mode);
      return this.#isBelow(path) ? this.#watched(file, String(path)) : file;
    };
    this.#restore.push(() => void (fs.promises.open = open));
    syncBuiltinESMExports();
  }

  [Symbol.dispose](): void {
    for (const restore of this.#restore) restore();
    syncBuiltinESMExports();
  }

  #replace(module: object, name: string, change: (path: string) => unknown): void {
    const members = module as Record<string, (...args: readonly unknown[]) => unknown>;
    const original = members[name]!;
    members[name] = (...args) => {
      if (!this.#isBelow(args[0])) return original(...args);
      const changed = change(String(args[0]));
      return changed instanceof Promise ? changed.then(() => original(...args)) : original(...args);
    };
    this.#restore.push(() => void (members[name] = original));
  }

  #isBelow(path: unknown): boolean {
    return String(path).startsWith(this.#root);
  }

  #change(path: string): void {
    if (this.diedAt !== undefined) throw new Died("dead");
    if (++this.changes < this.#at) return;
    this.diedAt = path;
    throw new Died(`died at ${path}`);
  }

  #watched(file: FileHandle, path: string): FileHandle {
    return new Proxy(file, {
      get: (target, name) => {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        if (!OF_HANDLES.has(name)) return member.bind(target) as unknown;
        return async (...args: readonly unknown[]): Promise<unknown> => {
          try {
            this.#change(path);
          } catch (error) {
            // Of what is written, a part may be there.
            const [bytes] = args.flat();
            if (this.diedAt === path && bytes instanceof Uint8Array && String(error).includes("died at"))
              await target.write(
                bytes.subarray(0, bytes.length / 2),
                0,
                undefined,
                args.length > 1 ? Number(args[1]) : null,
              );
            throw error;
          }
          return (member as (...args: readonly unknown[]) => unknown).apply(target, [...args]);
        };
      },
    });
  }
}
