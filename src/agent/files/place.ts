import { createHash } from "node:crypto";
import { chmodSync, lstatSync, type Stats, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { foldersOf, readDirectoryArchive } from "../../lib/directory-archive.ts";
import type { StoredFile } from "../../protocol/apps/app-files.ts";
import { isContentOf } from "./intake.ts";

/*
 * Where the files of apps lie: `files/` of the state directory has one directory for each version of an app, named
 * after its deployment. It appears there complete or not at all. An update makes another one, so that a rollback finds
 * the old files as they were. A directory is there twice: its archive as it came, by which the store can be filled again, and
 * unpacked.
 */

const ROOT = "files";
const PART = ".part";
/** Follows the name of the archive of a directory, for its unpacked files. */
const UNPACKED = ".d";

/** Returns the name of the directory for the files of a deployment. Its id may be any text. */
export function placeName(deploymentId: string): string {
  return createHash("sha256").update(deploymentId).digest("hex").slice(0, 32);
}

export function placePath(stateDir: string, name: string): string {
  return join(stateDir, ROOT, name);
}

/** The name in the place of what is mounted for the file with this index: the file itself, or an unpacked directory. */
export function mountedName({ directory }: StoredFile, index: number): string {
  return directory === true ? `${index}${UNPACKED}` : String(index);
}

/** The name of the directory that a path is in, which an engine reports as missing; `undefined` if it is no such path. */
export function placeNameIn(path: string): string | undefined {
  return new RegExp(`/${ROOT}/([0-9a-f]{32})/\\d+(?:\\${UNPACKED})?$`).exec(path)?.[1];
}

/**
 * Whether the files are in place. Of one that the agent may not read, size and mode are compared.
 * @param contentOf returns a file's content; `undefined` if it is lost
 */
export function isPlaced(
  directory: string,
  files: readonly StoredFile[],
  contentOf: (file: StoredFile) => Uint8Array | undefined,
): boolean {
  return files.every((file, index) => {
    const path = join(directory, String(index));
    const found = statIfAny(path);
    if (!found || found.size !== file.size || (found.mode & 0o7777) !== Number.parseInt(file.mode, 8)) return false;
    const content = readIfAllowed(path);
    if (content === undefined) return true;
    const wanted = contentOf(file);
    const isSame = wanted ? Buffer.compare(content, wanted) === 0 : isContentOf(file, content);
    return isSame && (file.directory !== true || isUnpacked(join(directory, mountedName(file, index)), content));
  });
}

function isUnpacked(directory: string, archive: Uint8Array): boolean {
  return readDirectoryArchive(archive).every(({ path, mode, content }) => {
    const found = statIfAny(join(directory, path));
    if (!content || !found?.isFile()) return !content && found?.isDirectory() === true;
    const isSame = Buffer.compare(readIfAllowed(join(directory, path)) ?? new Uint8Array(), content) === 0;
    return isSame && (found.mode & 0o7777) === (mode | READABLE);
  });
}

function statIfAny(path: string): Stats | undefined {
  try {
    return lstatSync(path);
  } catch {
    return undefined;
  }
}

/** Returns the content of a placed file; `undefined` if it is not there, or the agent may not read it. */
export function readIfAllowed(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/** One file to write into a place. */
export interface OwnFile {
  readonly name: string;
  readonly content: Uint8Array;
  readonly mode: number;
}

/** Makes an empty directory in which the files of a place are collected; removes one that a crash left behind. */
export function beginPlace(directory: string): string {
  const part = directory + PART;
  rmSync(part, { recursive: true, force: true });
  mkdirSync(part, { recursive: true, mode: 0o700 });
  return part;
}

/** Writes files of the agent's user. They are on disk when this resolves. */
export async function writeOwnFiles(part: string, files: readonly OwnFile[]): Promise<void> {
  // At once: the file system flushes them together.
  await Promise.all(files.map((file) => writeOwnFile(part, file)));
}

/** The user of the app is not known, and the files are the agent's. */
const READABLE = 0o444;

/** As many as are written at once. */
const BATCH = 64;

/** Unpacks the archive of a directory, which is this user's and which all users in the app may look into. On disk when this resolves. */
export async function unpackDirectory(part: string, name: string, archive: Uint8Array): Promise<void> {
  const entries = readDirectoryArchive(archive);
  const root = `${name}${UNPACKED}`;
  const folders = entries.flatMap(({ path, content }) => (content ? foldersOf(path) : [...foldersOf(path), path]));
  const all = [root, ...new Set(folders.map((folder) => join(root, folder)))].map((folder) => join(part, folder));
  for (const folder of all) {
    mkdirSync(folder, { recursive: true });
    // Not limited by the umask.
    chmodSync(folder, 0o755);
  }
  const files = entries.flatMap(({ path, mode, content }) =>
    content ? [{ name: join(root, path), mode: mode | READABLE, content }] : [],
  );
  for (let at = 0; at < files.length; at += BATCH) await writeOwnFiles(part, files.slice(at, at + BATCH));
  for (const folder of all) await syncDirectory(folder);
}

async function writeOwnFile(part: string, { name, content, mode }: OwnFile): Promise<void> {
  await using file = await open(join(part, name), "wx", 0o600);
  await file.writeFile(content);
  // Not limited by the umask.
  await file.chmod(mode);
  await file.sync();
}

/** Gives a complete place its name. On disk when this resolves. */
export async function finishPlace(part: string, directory: string): Promise<void> {
  await syncDirectory(part);
  rmSync(directory, { recursive: true, force: true });
  renameSync(part, directory);
  await syncDirectory(join(directory, ".."));
}

async function syncDirectory(path: string): Promise<void> {
  await using directory = await open(path, "r");
  await directory.sync();
}

/** Removes the files of deployments. What cannot be removed is left for `removeOtherPlaces`. */
export function removePlaces(stateDir: string, deploymentIds: readonly string[]): void {
  for (const id of deploymentIds) {
    try {
      rmSync(placePath(stateDir, placeName(id)), { recursive: true, force: true });
    } catch {
      // Reported by the other function.
    }
  }
}

/** Removes the files of all deployments but the given ones, with what a crash left incomplete. */
export function removeOtherPlaces(stateDir: string, deploymentIds: Iterable<string>): void {
  const root = join(stateDir, ROOT);
  const kept = new Set([...deploymentIds].map(placeName));
  for (const name of listNames(root)) {
    const isKept = kept.has(name.endsWith(PART) ? name.slice(0, -PART.length) : name);
    if (!isKept) rmSync(join(root, name), { recursive: true, force: true });
  }
}

function listNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // No app has had files.
    return [];
  }
}
