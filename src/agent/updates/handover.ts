import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parseAnswer, parseRequest, type UpdateAnswer, type UpdateRequest } from "../../lib/release/messages.ts";
import { ANSWER_FILE, HANDOVER, LAYOUT, REQUEST_FILE } from "../../lib/release/paths.ts";
import { type ReadFile, readLayer, readRelease } from "../../lib/release/read-release.ts";
import { ReleaseError } from "../../lib/release/release-error.ts";
import { unverifiedStatement } from "../../lib/release/statement.ts";
import { writeAtomically } from "../../lib/write-atomically.ts";

/** A file of a release's layout. */
export interface ReleasePart {
  readonly path: readonly string[];
  readonly content: Uint8Array;
}

/** Returns a function that reads files of an OCI layout on this device. */
export function layoutReader(folder: string): ReadFile {
  return (path, maxBytes) => {
    try {
      // Does not wait for the other end of a pipe.
      const file = openSync(join(folder, ...path), constants.O_RDONLY | constants.O_NONBLOCK);
      try {
        const stats = fstatSync(file);
        if (!stats.isFile()) throw new ReleaseError("malformed", `${path.join("/")} is not a plain file`);
        const { size } = stats;
        if (size > maxBytes) throw new ReleaseError("malformed", `${path.join("/")} has more than ${maxBytes} bytes`);
        const content = Buffer.alloc(size);
        return content.subarray(0, readSync(file, content, 0, size, 0));
      } finally {
        closeSync(file);
      }
    } catch (error) {
      if (error instanceof ReleaseError) throw error;
      const { code = "unknown" } = error as NodeJS.ErrnoException;
      throw new ReleaseError("incomplete", `${join(folder, ...path)} cannot be read: ${code}`, { cause: error });
    }
  };
}

/** The layout of the last request, in the state directory. */
export function handedLayout(stateDir: string): string {
  return join(stateDir, HANDOVER, LAYOUT);
}

/**
 * Reads everything that a release consists of, and nothing else: each part has the digest that leads to it, so that no link in a
 * folder that others can write makes root copy a file of its own. Who has signed it is the updater's to judge.
 *
 * @throws {ReleaseError}
 */
export function readParts(readFile: ReadFile, architecture: string): ReleasePart[] {
  const parts = new Map<string, ReleasePart>();
  const recorded: ReadFile = (path, maxBytes) => {
    const content = readFile(path, maxBytes);
    parts.set(path.join("/"), { path, content });
    return content;
  };
  const { layers } = readRelease(recorded, unverifiedStatement, architecture);
  for (const layer of layers) readLayer(recorded, layer);
  return [...parts.values()];
}

/**
 * Puts a release where the updater reads it, in place of an earlier one. Must run as the service's user: in its directory a
 * link may lead anywhere.
 */
export function handOver(stateDir: string, parts: readonly ReleasePart[]): void {
  const target = handedLayout(stateDir);
  rmSync(target, { recursive: true, force: true });
  writeParts(target, parts);
}

function writeParts(folder: string, parts: readonly ReleasePart[]): void {
  for (const { path, content } of parts) {
    const file = join(folder, ...path);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, content, { mode: 0o600, flush: true });
  }
}

/** Makes root's process one of the service's user, for good. */
export function becomeOwnerOf(stateDir: string): void {
  const { uid, gid } = statSync(stateDir);
  process.setgroups?.([gid]);
  process.setgid?.(gid);
  process.setuid?.(uid);
}

/**
 * Puts a release where the updater reads it, in place of an earlier one: what is there is the whole of one or of the other, also
 * after a power cut.
 *
 * @param addLayers adds the layers to the folder of the new one
 */
export async function replaceLayout<T>(
  stateDir: string,
  documents: readonly ReleasePart[],
  addLayers: (folder: string) => Promise<T>,
): Promise<T> {
  const target = handedLayout(stateDir);
  const next = `${target}.next`;
  rmSync(next, { recursive: true, force: true });
  writeParts(next, documents);
  const added = await addLayers(next);
  rmSync(target, { recursive: true, force: true });
  renameSync(next, target);
  return added;
}

/** Asks the updater, which systemd starts when the file has changed. @returns the request's id */
export function askUpdater(stateDir: string, request: UpdateRequestWithoutId): string {
  const id = randomBytes(16).toString("hex");
  askUpdaterAs(stateDir, { ...request, id });
  return id;
}

/** Asks the updater, once more if the request was made before. */
export function askUpdaterAs(stateDir: string, request: UpdateRequest): void {
  const path = join(stateDir, HANDOVER, REQUEST_FILE);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeAtomically(path, JSON.stringify(request), { mode: 0o600 });
}

type UpdateRequestWithoutId = UpdateRequest extends infer Request
  ? Request extends UpdateRequest
    ? Omit<Request, "id">
    : never
  : never;

/** Returns the last request; `undefined` if there is none that can be read. */
export function lastRequest(stateDir: string): UpdateRequest | undefined {
  return tryRead(() => parseRequest(readFileSync(join(stateDir, HANDOVER, REQUEST_FILE))));
}

/** Returns the updater's answer to a request; `undefined` if it has not answered. */
export function findAnswer(id: string, releasesFolder: string): UpdateAnswer | undefined {
  const answer = tryRead(() => parseAnswer(readFileSync(join(releasesFolder, ANSWER_FILE))));
  return answer?.id === id ? answer : undefined;
}

function tryRead<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
