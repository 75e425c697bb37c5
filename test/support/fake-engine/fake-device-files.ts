import { posix } from "node:path";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import type { DirectoryRequest, Owner } from "../../../src/agent/engine/engine.ts";
import { normalizePath } from "../../../src/protocol/normalize-path.ts";

/** What is at a path of a device. */
export interface DeviceFile {
  readonly kind: "file" | "directory" | "link";
  readonly mode: number;
  readonly owner: Owner;
}

const ROOT: Owner = { uid: 0, gid: 0 };

/** Files of the fake engine's device. Every path exists, save below the directories that a test adds as empty. */
export class FakeDeviceFiles {
  readonly #empty = new Set<string>();
  readonly #files = new Map<string, DeviceFile>();

  /** Below this directory, only what is added and made exists. */
  addEmptyDirectory(path: string): void {
    this.#empty.add(path);
  }

  add(path: string, kind: DeviceFile["kind"] = "file"): void {
    this.#files.set(path, { kind, mode: 0o644, owner: ROOT });
  }

  remove(path: string): void {
    this.#files.delete(path);
  }

  /** What is there; `undefined` if nothing, or nothing that a test added or the engine made. */
  find(path: string): DeviceFile | undefined {
    return this.#files.get(path);
  }

  /** Fails as an engine that is to mount them. */
  requireAll(paths: readonly string[]): void {
    for (const path of paths) {
      if (this.#exists(normalizePath(path))) continue;
      throw new EngineError("mount_missing", `bind source path does not exist: ${path}`, { path });
    }
  }

  make({ path, owner, mode }: DirectoryRequest): void {
    const parent = posix.dirname(path);
    if (!this.#exists(parent)) this.make({ image: "", labels: {}, path: parent, owner: ROOT, mode: 0o755 });
    if (this.#files.has(path)) throw new EngineError("conflict", `${path} is in the way`);
    this.#files.set(path, { kind: "directory", mode, owner });
  }

  #exists(path: string): boolean {
    const isKnown = [...this.#empty].some((directory) => path.startsWith(`${directory}/`));
    return !isKnown || (this.#files.get(path)?.kind ?? "link") !== "link";
  }
}
