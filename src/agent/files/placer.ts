import { execFile } from "node:child_process";
import { join } from "node:path";
import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import type { StoredFile } from "../../protocol/apps/app-files.ts";
import type { OwnerIds } from "../../protocol/apps/volume-fields.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { contentId, parseFileOwner } from "../core/app/files.ts";
import { LABELS } from "../core/app/container.ts";
import { needsUserFiles, ownerOf } from "../core/image/image-user.ts";
import type { Engine } from "../engine/engine.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { Host } from "../host/host.ts";
import type { AgentStore } from "../store/store.ts";
import { hostPath } from "./host-path.ts";
import { beginPlace, finishPlace, isPlaced, mountedName, placePath, unpackDirectory, writeOwnFiles } from "./place.ts";

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
  if (!isPlaced(directory, files, (file) => context.store.fileContent(contentId(file))))
    await write(context, placement, { directory, onDevice });
  return files.map((file, index) => ({ source: join(onDevice, mountedName(file, index)), target: file.target }));
}

const NO_HOST_PATH =
  "the agent runs in a container, and its state directory is not a directory of the device: mount one there";

interface Place {
  readonly directory: string;
  /** The same as the engine knows it. */
  readonly onDevice: string;
}

interface PlacedFile {
  readonly name: string;
  readonly content: Uint8Array;
  readonly mode: number;
}

async function write(context: PlacerContext, placement: Placement, { directory, onDevice }: Place): Promise<void> {
  const { files = [] } = placement.spec;
  const contents = files.map((file, index) => toPlaced(file, index, context.store));
  const owners = await ownersOf(context, placement);
  try {
    const part = beginPlace(directory);
    const isOwn = (index: number): boolean => owners[index] === undefined || isAgent(owners[index]);
    await writeOwnFiles(
      part,
      contents.filter((_, index) => isOwn(index)),
    );
    for (const [index, { name, content }] of contents.entries())
      if (files[index]?.directory === true) await unpackDirectory(part, name, content);
    const others = contents.flatMap((file, index) => {
      const owner = owners[index];
      return owner === undefined || isOwn(index) ? [] : [{ ...file, owner }];
    });
    if (others.length > 0) await writeByEngine(context, placement, { part, onDevice: `${onDevice}.part`, others });
    await finishPlace(part, directory);
  } catch (error) {
    throw toPlacingError(error);
  }
}

function toPlaced(file: StoredFile, index: number, store: PlacerContext["store"]): PlacedFile {
  const content = store.fileContent(contentId(file));
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
    readonly others: readonly (PlacedFile & { owner: OwnerIds })[];
  },
): Promise<void> {
  const labels = { [LABELS.app]: spec.name, [LABELS.stateDir]: config.stateDir };
  await engine.writeDeviceFiles({ image: await image(), labels, directory: onDevice, files: others }, signal);
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
