import {
  closeSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
} from "node:fs";
import { isAbsolute, join, relative, resolve, sep } from "node:path";
import type { UploadSource } from "./large-content.ts";

/** What a name leads to, with links followed. `other`: also what this user may not look at. */
export type LocalKind = "file" | "directory" | "missing" | "other";

/** The files beside a document. Names are relative to its directory. */
export interface LocalFiles {
  kindOf(name: string): LocalKind;
  /** The name of an absolute path. */
  fromHere(path: string): string;
  /** Whether it is in the document's directory or below, with links followed. */
  isInside(name: string): boolean;
  /** Bytes. */
  sizeOf(name: string): number;
  /** Permissions, such as `0o644`. */
  modeOf(name: string): number;
  /** `UID:GID`. */
  ownerOf(name: string): string;
  /** Throws the errors of the file system. */
  read(name: string): Buffer;
  /** Reads the first bytes of a file, chunk by chunk. Throws also where it has fewer. */
  readChunks(name: string, bytes: number): Iterable<Uint8Array>;
  /** Names in a directory, in order. */
  list(name: string): string[];
  /** What was packed of them, as it is too large for a request, by the hash of the upload. */
  readonly uploads: Map<string, UploadSource>;
}

/** @param directory of the document */
export function localFiles(directory: string): LocalFiles {
  const pathOf = (name: string): string => (isAbsolute(name) ? name : resolve(directory, name));
  return {
    fromHere: (path) => relative(resolve(directory), path).replaceAll(sep, "/"),
    kindOf(name) {
      try {
        return kindOf(statSync(pathOf(name), { throwIfNoEntry: false }));
      } catch {
        // Such as a loop of links, or a directory that this user may not enter.
        return "other";
      }
    },
    isInside(name) {
      try {
        const path = relative(realpathSync(directory), realpathSync(pathOf(name)));
        return !isAbsolute(path) && path.split(sep)[0] !== "..";
      } catch {
        // It cannot be read either, which is said where it is read.
        return true;
      }
    },
    sizeOf: (name) => statSync(pathOf(name)).size,
    modeOf: (name) => statSync(pathOf(name)).mode & 0o777,
    ownerOf(name) {
      const { uid, gid } = statSync(pathOf(name));
      return `${uid}:${gid}`;
    },
    read: (name) => readBounded(pathOf(name)),
    readChunks: (name, bytes) => chunksOf(pathOf(name), bytes),
    list: (name) =>
      readdirSync(pathOf(name))
        .toSorted()
        .map((entry) => join(name, entry)),
    uploads: new Map(),
  };
}

/** What is no file may have no end, such as a pipe or `/dev/zero`: this is far above what a text of a project may have. */
const MAX_STREAM_BYTES = 16 * 1024 * 1024;

function readBounded(path: string): Buffer {
  const file = openSync(path, "r");
  try {
    if (fstatSync(file).isFile()) return readFileSync(file);
    const chunks: Buffer[] = [];
    for (let bytes = 0; bytes <= MAX_STREAM_BYTES; bytes += chunks.at(-1)?.length ?? 0) {
      const chunk = Buffer.alloc(64 * 1024);
      const read = readSync(file, chunk);
      if (read === 0) return Buffer.concat(chunks);
      chunks.push(chunk.subarray(0, read));
    }
    throw Object.assign(new Error(`${path} has no end`), { code: "EFBIG" });
  } finally {
    closeSync(file);
  }
}

const CHUNK_BYTES = 1024 * 1024;

function* chunksOf(path: string, bytes: number): Generator<Uint8Array> {
  const file = openSync(path, "r");
  try {
    for (let at = 0; at < bytes;) {
      const chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, bytes - at));
      const read = readSync(file, chunk, 0, chunk.length, at);
      if (read === 0) throw Object.assign(new Error(`${path} was cut short`), { code: "it was changed" });
      yield chunk.subarray(0, read);
      at += read;
    }
  } finally {
    closeSync(file);
  }
}

function kindOf(stats: Stats | undefined): LocalKind {
  if (!stats) return "missing";
  if (stats.isFile()) return "file";
  return stats.isDirectory() ? "directory" : "other";
}
