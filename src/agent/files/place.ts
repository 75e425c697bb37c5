import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { MAX_APP_FILES_BYTES } from "../../protocol/limits.ts";
import type { StoredFile } from "../../protocol/apps/app-files.ts";
import { ComparedFile, FlushedFiles, isUnpacked, statIfAny, syncDirectory } from "./archive-on-disk.ts";
import { type Content, contentInMemory } from "./content.ts";
import { removeUnusedFetched } from "./fetched-contents.ts";
import { isContentOf } from "./intake.ts";
import type { StoreReader } from "../store/store.ts";

/*
 * Where the files of apps lie: `files/` of the state directory has one directory for each version of an app, named
 * after its deployment. It appears there complete or not at all. An update makes another one, so that a rollback finds
 * the old files as they were. A directory is there unpacked, and one that was not fetched also as its archive, by which the store can be
 * filled again.
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
export async function isPlaced(
  directory: string,
  files: readonly StoredFile[],
  contentOf: (file: StoredFile) => Content | undefined,
): Promise<boolean> {
  for (const [index, file] of files.entries()) {
    const content = contentOf(file);
    const path = join(directory, mountedName(file, index));
    if (file.directory === true && content?.isFetched) {
      if (!(await isUnpacked(path, content.read()))) return false;
      continue;
    }
    const plain = join(directory, String(index));
    if (!(await isFilePlaced(plain, file, content))) return false;
    if (file.directory !== true) continue;
    const archive = content ?? contentInMemory(readIfAllowed(plain) ?? new Uint8Array());
    if (!(await isUnpacked(path, archive.read()))) return false;
  }
  return true;
}

async function isFilePlaced(path: string, file: StoredFile, content: Content | undefined): Promise<boolean> {
  const found = statIfAny(path);
  if (!found || found.size !== file.size || (found.mode & 0o7777) !== Number.parseInt(file.mode, 8)) return false;
  await using compared = new ComparedFile();
  if (!(await compared.begin(path))) return true;
  if (!content && file.size > MAX_APP_FILES_BYTES) return false;
  if (!content) return isContentOf(file, readIfAllowed(path) ?? new Uint8Array());
  for await (const chunk of content.read()) if (!(await compared.continues(chunk))) return false;
  return true;
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
  readonly content: Content;
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
export async function writeOwnFiles(part: string, written: readonly OwnFile[]): Promise<void> {
  await using files = new FlushedFiles();
  for (const { name, content, mode } of written) {
    await files.begin(join(part, name), mode);
    for await (const chunk of content.read()) await files.add(chunk);
  }
  await files.flush();
}

/** Gives a complete place its name. On disk when this resolves. */
export async function finishPlace(part: string, directory: string): Promise<void> {
  await syncDirectory(part);
  rmSync(directory, { recursive: true, force: true });
  renameSync(part, directory);
  await syncDirectory(join(directory, ".."));
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

/** Removes also the contents that were fetched and that no record names. */
export function removeUnusedFiles(
  stateDir: string,
  deploymentIds: Iterable<string>,
  store: Pick<StoreReader, "apps" | "deployments">,
): void {
  removeOtherPlaces(stateDir, deploymentIds);
  removeUnusedFetched(stateDir, store);
}

function listNames(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    // No app has had files.
    return [];
  }
}
