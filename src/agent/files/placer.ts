import { execFile } from "node:child_process";
import { join } from "node:path";
import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import type { StoredFile } from "../../protocol/apps/app-files.ts";
import type { OwnerIds } from "../../protocol/apps/volume-fields.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { DirectoryArchiveError } from "../../lib/directory-archive.ts";
import { contentId, parseFileOwner } from "../core/app/files.ts";
import { LABELS } from "../core/app/container.ts";
import { needsUserFiles, ownerOf } from "../core/image/image-user.ts";
import type { DeviceFile } from "../engine/device-files.ts";
import type { Engine } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { Host } from "../host/host.ts";
import type { AgentStore } from "../store/store.ts";
import { hostPath } from "./host-path.ts";
import { unpackArchive } from "./archive-on-disk.ts";
import { type Content, contentInMemory, DamagedContentError, readWhole } from "./content.ts";
import { findFetched, removeFetched } from "./fetched-contents.ts";
import { beginPlace, finishPlace, isPlaced, mountedName, type OwnFile, placePath, writeOwnFiles } from "./place.ts";

export interface PlacerContext {
  readonly engine: Pick<Engine, "inspectImage" | "readImagePaths" | "writeDeviceFiles" | "readContainerConfig">;
  readonly host: Pick<Host, "readMounts">;
  readonly store: Pick<AgentStore, "fileContent">;
  readonly config: { readonly stateDir: string };
  readonly signal: AbortSignal;
}

export interface Placement {
  readonly spec: AppSpec;
  /** The name of the place: see `placeName`. */
  readonly name: string;
  /** Returns the reference or id of the app's image. */
  readonly image: () => Promise<string>;
}

/** A file to mount into the container. */
export interface FileMount {
  /** Path on the device. */
  readonly source: string;
  readonly target: string;
}

/**
 * Puts the files of an app into their place on the device, where they stay until it is removed, and returns them for the
 * container. Files that are in place are left alone. Errors: `InsufficientDisk`, `FilesNotPlaced`.
 */
export async function placeFiles(context: PlacerContext, placement: Placement): Promise<readonly FileMount[]> {
  const { files = [] } = placement.spec;
  if (files.length === 0) return [];
  const directory = placePath(context.config.stateDir, placement.name);
  const onDevice = await hostPath(context, directory, context.signal);
  if (onDevice === undefined) throw notPlaced(NO_HOST_PATH);
  if (!(await isComplete(context, directory, files))) await write(context, placement, { directory, onDevice });
  return files.map((file, index) => ({ source: join(onDevice, mountedName(file, index)), target: file.target }));
}

async function isComplete(context: PlacerContext, directory: string, files: readonly StoredFile[]): Promise<boolean> {
  try {
    return await isPlaced(directory, files, (file) => contentOf(context, file));
  } catch (error) {
    // Then it cannot be placed either, which says why.
    if (error instanceof DamagedContentError || error instanceof DirectoryArchiveError) return false;
    context.signal.throwIfAborted();
    throw toPlacingError(error);
  }
}

/** Returns a file's content, which stops with the signal; `undefined` if it is lost. */
function contentOf({ store, config, signal }: PlacerContext, file: StoredFile): Content | undefined {
  const stored = store.fileContent(contentId(file));
  const content = stored ? contentInMemory(stored) : findFetched(config.stateDir, file.sha256 ?? "");
  const read = async function* () {
    try {
      for await (const chunk of content?.read() ?? []) {
        signal.throwIfAborted();
        yield chunk;
      }
    } catch (error) {
      // The next deployment that names it fetches it again.
      if (error instanceof DamagedContentError) removeFetched(config.stateDir, file.sha256 ?? "");
      throw error;
    }
  };
  return content && { ...content, read };
}

const NO_HOST_PATH =
  "the agent runs in a container, and its state directory is not a directory of the device: mount one there";

interface Place {
  readonly directory: string;
  /** The same as the engine knows it. */
  readonly onDevice: string;
}

async function write(context: PlacerContext, placement: Placement, { directory, onDevice }: Place): Promise<void> {
  const { files = [] } = placement.spec;
  const contents = files.map((file, index) => toPlaced(context, file, index));
  const owners = await ownersOf(context, placement);
  try {
    const part = beginPlace(directory);
    const isOwn = (index: number): boolean => owners[index] === undefined || isAgent(owners[index]);
    const isDirectory = (index: number): boolean => files[index]?.directory === true;
    await writeOwnFiles(
      part,
      contents.filter(({ content }, index) => isOwn(index) && !(isDirectory(index) && content.isFetched)),
    );
    for (const [index, file] of files.entries()) {
      const { content } = contents[index] ?? {};
      if (content && file.directory === true)
        await unpack(context, file, join(part, mountedName(file, index)), content);
    }
    const others = contents.flatMap((file, index) => {
      const owner = owners[index];
      return owner === undefined || isOwn(index) ? [] : [{ ...file, owner }];
    });
    if (others.length > 0) await writeByEngine(context, placement, { part, onDevice: `${onDevice}.part`, others });
    await finishPlace(part, directory);
  } catch (error) {
    // Errors of an aborted signal have a code, too.
    context.signal.throwIfAborted();
    throw toPlacingError(error);
  }
}

async function unpack({ config }: PlacerContext, file: StoredFile, path: string, content: Content): Promise<void> {
  try {
    await unpackArchive(path, content.read());
  } catch (error) {
    if (!(error instanceof DirectoryArchiveError)) throw error;
    // It was an archive when it was stored.
    removeFetched(config.stateDir, file.sha256 ?? "");
    throw new DamagedContentError(error.message, { cause: error });
  }
}

function toPlaced(context: PlacerContext, file: StoredFile, index: number): OwnFile {
  const content = contentOf(context, file);
  if (!content) throw notPlaced(`the content of ${file.target} is not on the device any more; send the app again`);
  return { name: String(index), content, mode: Number.parseInt(file.mode, 8) };
}

/** The agent may not give files to another user; the engine may. */
async function writeByEngine(
  { engine, config, signal }: PlacerContext,
  { spec, image }: Placement,
  {
    part,
    onDevice,
    others,
  }: {
    readonly part: string;
    readonly onDevice: string;
    readonly others: readonly (OwnFile & { owner: OwnerIds })[];
  },
): Promise<void> {
  const labels = { [LABELS.app]: spec.name, [LABELS.stateDir]: config.stateDir };
  const files: DeviceFile[] = [];
  // Few, and small together: see `MAX_APP_FILES_BYTES`.
  for (const { content, ...file } of others) files.push({ ...file, content: await readWhole(content) });
  await engine.writeDeviceFiles({ image: await image(), labels, directory: onDevice, files }, signal);
  // The agent may not open them to flush them.
  await flushFileSystem(part);
}

/** Without the program, files survive a power cut only some seconds later. */
function flushFileSystem(path: string): Promise<void> {
  return new Promise((resolve) => {
    execFile("sync", ["--file-system", path], { timeout: 30_000 }, () => resolve());
  });
}

/** Returns the owner that each file is to have; `undefined` where that does not matter. */
async function ownersOf(context: PlacerContext, { spec, image }: Placement): Promise<(OwnerIds | undefined)[]> {
  const { files = [] } = spec;
  const needsUser = files.some(({ owner, secret }) => owner === undefined && secret === true);
  const user = needsUser ? await userOf(context, spec, await image()) : undefined;
  return files.map(({ owner, secret }) => {
    if (owner !== undefined) return parseFileOwner(owner);
    return secret === true ? user : undefined;
  });
}

const USER_FILES = ["/etc/passwd", "/etc/group"];
const MAX_USER_FILE_BYTES = 65_536;

/** Returns the ids that the app runs with: those of its own `user`, or else of its image. */
async function userOf({ engine, config, signal }: PlacerContext, spec: AppSpec, image: string): Promise<OwnerIds> {
  const user = spec.user ?? (await engine.inspectImage(image, signal))?.user ?? "";
  if (!needsUserFiles(user)) return ownerOf(user, { passwd: undefined, group: undefined });
  const labels = { [LABELS.app]: spec.name, [LABELS.stateDir]: config.stateDir };
  const request = { image, labels, paths: USER_FILES, maxBytes: MAX_USER_FILE_BYTES };
  const [passwd, group] = await engine.readImagePaths(request, signal);
  const textOf = (file: typeof passwd) => file?.content && Buffer.from(file.content).toString();
  return ownerOf(user, { passwd: textOf(passwd), group: textOf(group) });
}

function isAgent(owner: OwnerIds | undefined): boolean {
  return owner?.uid === process.geteuid?.() && owner?.gid === process.getegid?.();
}

const OUT_OF_SPACE: ReadonlySet<string> = new Set(["ENOSPC", "EDQUOT"]);

function toPlacingError(error: unknown): unknown {
  if (error instanceof EngineError) {
    const isHidden = error.kind === "mount_missing";
    return isHidden ? notPlaced("the engine does not see the agent's state directory", error) : error;
  }
  if (error instanceof DamagedContentError)
    return notPlaced("a content is damaged on the device's disk; send the app again", error);
  const { code } = error as NodeJS.ErrnoException;
  if (code === undefined) return error;
  if (!OUT_OF_SPACE.has(code)) return notPlaced(`the agent's state directory cannot be written (${code})`, error);
  const message = "The files of the app could not be written: there is no space left in the agent's state directory.";
  return new EdgeError("InsufficientDisk", message, undefined, { cause: error });
}

function notPlaced(reason: string, cause?: unknown): EdgeError {
  const message = `The files of the app cannot be placed: ${reason}.`;
  return new EdgeError("FilesNotPlaced", message, undefined, { cause });
}
