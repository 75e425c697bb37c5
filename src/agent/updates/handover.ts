import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { parseAnswer, parseRequest, type UpdateAnswer, type UpdateRequest } from "../../lib/release/messages.ts";
import { ANSWER_FILE, HANDOVER, LAYOUT, REQUEST_FILE } from "../../lib/release/paths.ts";
import type { ReadFile, Release } from "../../lib/release/read-release.ts";
import { ReleaseError } from "../../lib/release/release-error.ts";
import { writeAtomically } from "../../lib/write-atomically.ts";

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** Returns a function that reads files of an OCI layout on this device. */
export function layoutReader(folder: string): ReadFile {
  return (path, maxBytes) => {
    try {
      const file = openSync(join(folder, ...path), "r");
      try {
        const { size } = fstatSync(file);
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

/** Copies what a release consists of to where the updater reads it, in place of an earlier one. */
export function handOver(from: string, stateDir: string, { paths }: Pick<Release, "paths">): void {
  const owner = ownerOf(stateDir);
  const target = handedLayout(stateDir);
  makeFolder(join(stateDir, HANDOVER), owner);
  rmSync(target, { recursive: true, force: true });
  makeFolder(target, owner);
  for (const path of paths) {
    const file = join(target, ...path);
    for (let depth = 1; depth < path.length; depth++) makeFolder(join(target, ...path.slice(0, depth)), owner);
    copyFileSync(join(from, ...path), file);
    chmodSync(file, 0o600);
    if (owner) chownSync(file, owner.uid, owner.gid);
  }
}

/** Asks the updater, which systemd starts when the file has changed. @returns the request's id */
export function askUpdater(stateDir: string, request: UpdateRequestWithoutId): string {
  const owner = ownerOf(stateDir);
  const id = randomBytes(16).toString("hex");
  const path = join(stateDir, HANDOVER, REQUEST_FILE);
  makeFolder(dirname(path), owner);
  writeAtomically(path, JSON.stringify({ id, ...request }), { mode: 0o600, ...(owner && { owner }) });
  return id;
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
export function answerTo(id: string, releasesFolder: string): UpdateAnswer | undefined {
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

/** The service's user where root asks; `undefined` for the service itself, whose unit forbids changes of owners. */
function ownerOf(stateDir: string): Owner | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const { uid, gid } = statSync(stateDir);
  return { uid, gid };
}

function makeFolder(path: string, owner: Owner | undefined): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  if (owner) chownSync(path, owner.uid, owner.gid);
}
