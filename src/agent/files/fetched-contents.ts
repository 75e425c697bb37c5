import { createReadStream, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import { DirectoryArchiveError, DirectoryArchiveReader } from "../../lib/directory-archive.ts";
import type { StoreReader } from "../store/store.ts";
import { type Content, DamagedContentError, verified } from "./content.ts";
import { syncDirectory } from "./archive-on-disk.ts";

/*
 * Contents that were fetched lie in `uploads/` of the state directory, compressed as they came: they may be larger than the
 * agent's memory. A file there is named after the content, its size, and whether that is the archive of a directory, all of which was
 * verified before it got the name. It outlasts the store, and goes when no record names the content.
 */

const ROOT = "uploads";
const PART = ".part";
const CHUNK_BYTES = 64 * 1024;
const NAME = /^([0-9a-f]{64})\.(\d{1,10})\.(tar|bin)$/;

export interface FetchedContent extends Content {
  /** SHA-256 of the content, hex. */
  readonly sha256: string;
  readonly isArchive: boolean;
}

/** Finds a content that was fetched, by its hash. */
export function findFetched(stateDir: string, sha256: string): FetchedContent | undefined {
  const found = listNames(stateDir).find((name) => name.startsWith(`${sha256}.`) && NAME.test(name));
  const [, , size, kind] = NAME.exec(found ?? "") ?? [];
  if (found === undefined) return undefined;
  const identity = { sha256, size: Number(size) };
  const path = join(stateDir, ROOT, found);
  return { ...identity, isFetched: true, isArchive: kind === "tar", read: () => verified(unpacked(path), identity) };
}

/**
 * Stores a content. It is on disk when this resolves; a crash before leaves a part, which the next attempt replaces. Must not run
 * twice at once for one content. Errors: `DamagedContentError` for another one, those of the file system, the signal's reason.
 */
export async function addFetched(
  stateDir: string,
  identity: { readonly sha256: string; readonly size: number },
  packed: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
): Promise<FetchedContent> {
  const { sha256, size } = identity;
  const root = join(stateDir, ROOT);
  const part = join(root, sha256 + PART);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  let isArchive: boolean;
  try {
    await using file = await open(part, "w", 0o600);
    for await (const chunk of packed) {
      signal.throwIfAborted();
      await file.writeFile(chunk);
    }
    isArchive = await verify(verified(unpacked(part), identity), signal);
    await file.sync();
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
  renameSync(part, join(root, `${sha256}.${size}.${isArchive ? "tar" : "bin"}`));
  await syncDirectory(root);
  const added = findFetched(stateDir, sha256);
  if (!added) throw new Error("a content is gone that was stored just now");
  return added;
}

/** Removes a content, as one that is damaged: then it is fetched again. */
export function removeFetched(stateDir: string, sha256: string): void {
  remove(stateDir, (name) => name.startsWith(`${sha256}.`));
}

/** Removes the contents that no record names, with what a crash left of them. */
export function removeUnusedFetched(stateDir: string, store: Pick<StoreReader, "apps" | "deployments">): void {
  if (listNames(stateDir).length === 0) return;
  // A hash is in no record but where that names the content.
  const records = JSON.stringify([store.apps(), store.deployments()]);
  remove(stateDir, (name) => !records.includes(name.slice(0, 64)));
}

function remove(stateDir: string, isRemoved: (name: string) => boolean): void {
  for (const name of listNames(stateDir)) if (isRemoved(name)) rmSync(join(stateDir, ROOT, name), { recursive: true });
}

/** Reads a content to its end. Returns whether it is the archive of a directory. */
async function verify(content: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<boolean> {
  let reader: DirectoryArchiveReader | undefined = new DirectoryArchiveReader();
  for await (const chunk of content) {
    signal.throwIfAborted();
    if (reader && !isArchiveSoFar(reader, chunk)) reader = undefined;
  }
  return reader !== undefined && isArchiveSoFar(reader);
}

/** @param chunk the next one; absent behind the last */
function isArchiveSoFar(reader: DirectoryArchiveReader, chunk?: Uint8Array): boolean {
  try {
    if (!chunk) reader.end();
    // To the end of the chunk.
    else for (const _part of reader.read(chunk));
    return true;
  } catch (error) {
    if (error instanceof DirectoryArchiveError) return false;
    throw error;
  }
}

/** Unpacks a file as it is read. */
async function* unpacked(path: string): AsyncGenerator<Uint8Array> {
  const source = createReadStream(path, { highWaterMark: CHUNK_BYTES });
  const content = createGunzip({ chunkSize: CHUNK_BYTES });
  source.on("error", (error) => content.destroy(error));
  source.pipe(content);
  try {
    yield* content as AsyncIterable<Buffer>;
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    throw code.startsWith("Z_") ? new DamagedContentError("cannot be unpacked", { cause: error }) : error;
  } finally {
    source.destroy();
    content.destroy();
  }
}

function listNames(stateDir: string): string[] {
  try {
    return readdirSync(join(stateDir, ROOT));
  } catch {
    // None was fetched.
    return [];
  }
}
