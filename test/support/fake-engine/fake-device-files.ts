import { chmodSync, chownSync, existsSync, lstatSync, readFileSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";
import { EngineError } from "../../../src/agent/engine/engine-error.ts";
import type {
  ContainerRequest,
  DeviceFilesRequest,
  DirectoryRequest,
  FilesReading,
} from "../../../src/agent/engine/engine.ts";
import type { OwnerIds } from "../../../src/protocol/apps/volume-fields.ts";
import { normalizePath } from "../../../src/protocol/values/normalize-path.ts";

/** What is at a path of a device. */
export interface DeviceFile {
  readonly kind: "file" | "directory" | "link";
  readonly mode: number;
  readonly owner: OwnerIds;
  readonly content?: Uint8Array;
}

const ROOT: OwnerIds = { uid: 0, gid: 0 };

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
    this.#empty.delete(path);
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

  /** Fails as an engine that is to mount them. Files are the agent's, which writes them to this machine. */
  requireFiles(files: ContainerRequest["files"] = []): void {
    for (const { source } of files) {
      if (this.#files.has(source) || this.#empty.has(source) || existsSync(source)) continue;
      throw new EngineError("mount_missing", `bind source path does not exist: ${source}`, { path: source });
    }
  }

  /** Writes to this machine where the directory is one of it. */
  write({ directory, files }: DeviceFilesRequest): void {
    this.#requireDirectory(directory);
    for (const { name, content, owner, mode } of files) {
      const path = join(directory, name);
      if (!existsSync(directory)) {
        this.#files.set(path, { kind: "file", mode, owner, content });
        continue;
      }
      writeFileSync(path, content);
      chmodSync(path, mode);
      if (process.getuid?.() === 0) chownSync(path, owner.uid, owner.gid);
    }
  }

  read({ directory, names, maxBytes }: FilesReading): (Uint8Array | undefined)[] {
    this.#requireDirectory(directory);
    return names.map((name) => {
      const path = join(directory, name);
      const isFile = lstatSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
      const content = this.#files.get(path)?.content ?? (isFile ? readFileSync(path) : undefined);
      return content && content.length <= maxBytes ? content : undefined;
    });
  }

  #requireDirectory(path: string): void {
    const isEmptyOne = this.#empty.has(path);
    if (!isEmptyOne && !existsSync(path) && !this.#files.has(path)) {
      throw new EngineError("mount_missing", `bind source path does not exist: ${path}`, { path });
    }
  }

  #exists(path: string): boolean {
    const isKnown = [...this.#empty].some((directory) => path.startsWith(`${directory}/`));
    return !isKnown || (this.#files.get(path)?.kind ?? "link") !== "link";
  }
}
