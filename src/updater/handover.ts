import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from "node:fs";
import { join } from "node:path";
import { HANDOVER, LAYOUT, REQUEST_FILE } from "../lib/release/paths.ts";
import { ReleaseError } from "../lib/release/release-error.ts";

const MAX_REQUEST_BYTES = 4096;
const GROUP_OR_OTHERS_WRITE = 0o022;

/**
 * The folder in which the agent leaves a request with a release. The agent's user can put anything there, so nothing is
 * opened through a symbolic link, and only plain files are read.
 */
export class Handover implements Disposable {
  readonly #folder: number;
  readonly #owner: number;

  /** @param stateFolder the agent's state directory, which only its user can write @throws {ReleaseError} */
  constructor(stateFolder: string) {
    const state = open(stateFolder, constants.O_DIRECTORY);
    try {
      this.#owner = fstatSync(state).uid;
      this.#folder = openBelow(state, [HANDOVER], constants.O_DIRECTORY);
    } finally {
      closeSync(state);
    }
    this.#requireOwned(fstatSync(this.#folder));
  }

  /** Reads the request. @throws {ReleaseError} */
  readRequest(): Buffer {
    const file = openBelow(this.#folder, [REQUEST_FILE], 0);
    try {
      this.#requireOwned(fstatSync(file));
      return readAll(file, MAX_REQUEST_BYTES, REQUEST_FILE);
    } finally {
      closeSync(file);
    }
  }

  /** Reads a file of the release's layout. @throws {ReleaseError} */
  readonly readFile = (path: readonly string[], maxBytes: number): Buffer => {
    const file = openBelow(this.#folder, [LAYOUT, ...path], 0);
    try {
      return readAll(file, maxBytes, path.join("/"));
    } finally {
      closeSync(file);
    }
  };

  [Symbol.dispose](): void {
    closeSync(this.#folder);
  }

  /** A request counts only if the agent or root has written it, whatever the directory's permissions have become. */
  #requireOwned({ uid, mode }: Stats): void {
    if ((uid === 0 || uid === this.#owner) && (mode & GROUP_OR_OTHERS_WRITE) === 0) return;
    throw new ReleaseError("malformed", "the request can be written by others than the agent");
  }
}

/** Opens a path below a folder, link by link as openat(2) does, which Node.js lacks. Follows no symbolic link. */
function openBelow(folder: number, path: readonly string[], flags: number): number {
  const [name = "", ...rest] = path;
  const isLast = rest.length === 0;
  const next = open(
    join(`/proc/self/fd/${folder}`, name),
    constants.O_NOFOLLOW | (isLast ? flags : constants.O_DIRECTORY),
  );
  if (isLast) return next;
  try {
    return openBelow(next, rest, flags);
  } finally {
    closeSync(next);
  }
}

function open(path: string, flags: number): number {
  try {
    // Does not wait for the other end of a pipe.
    return openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  } catch (error) {
    const name = path.split("/").at(-1) ?? "";
    throw new ReleaseError(
      "incomplete",
      `${name} cannot be read: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`,
      {
        cause: error,
      },
    );
  }
}

function readAll(file: number, maxBytes: number, name: string): Buffer {
  const stats = fstatSync(file);
  if (!stats.isFile()) throw new ReleaseError("malformed", `${name} is not a plain file`);
  if (stats.size > maxBytes) throw new ReleaseError("malformed", `${name} has more than ${maxBytes} bytes`);
  const content = Buffer.alloc(stats.size);
  let length = 0;
  while (length < content.length) {
    const count = readSync(file, content, length, content.length - length, length);
    if (count === 0) throw new ReleaseError("incomplete", `${name} has changed while it was read`);
    length += count;
  }
  return content;
}
