import { posix } from "node:path";
import { EngineError } from "../engine-error.ts";
import type { DeviceFilesRequest, FilesReading } from "../device-files.ts";
import type { DirectoryRequest, ImagePath, ImagePathsRequest } from "../image-path.ts";
import { hasPath, readPath, writeDirectories, writeFiles } from "./container-archive.ts";
import { type HelperEngine, type HelperOptions, withHelper } from "./helper-container.ts";
import { toEngineError } from "./to-engine-error.ts";

/** Where a helper mounts directories of the device. */
const MOUNT = "/edge-agent-mount";
const ROOT = { uid: 0, gid: 0 };
const PARENT_MODE = 0o755;
/** Texts of Docker and Podman. */
const IN_THE_WAY = /cannot overwrite non-directory|error creating .*: file exists/;

/** Returns what an image has at each path; `undefined` where it has nothing. */
export function readImagePaths(
  engine: HelperEngine,
  { image, labels, paths, maxBytes }: ImagePathsRequest,
  abortSignal: AbortSignal,
): Promise<readonly (ImagePath | undefined)[]> {
  return withHelper(engine, { image, labels }, abortSignal, async (id) => {
    const found: (ImagePath | undefined)[] = [];
    for (const path of paths) found.push(await readPath(engine, id, { path, maxBytes }, abortSignal));
    return found;
  });
}

/** Makes a directory of the device, and its missing parents as root's. */
export async function makeDirectory(
  engine: HelperEngine,
  { path, owner, mode, ...helper }: DirectoryRequest,
  abortSignal: AbortSignal,
): Promise<void> {
  // The engine alone can tell what exists: the agent may have another view of the file system, or no rights.
  const missing = [posix.basename(path)];
  let parent = posix.dirname(path);
  for (;;) {
    try {
      await withHelper(engine, { ...helper, mounts: [{ source: parent, target: MOUNT }] }, abortSignal, async (id) => {
        const entries = missing.map((_, index) => ({
          name: missing.slice(0, index + 1).join("/"),
          ...(index === missing.length - 1 ? { owner, mode } : { owner: ROOT, mode: PARENT_MODE }),
        }));
        // What is there by now belongs to another program: writing would change its owner.
        const isTaken = await hasPath(engine.docker, id, `${MOUNT}/${missing[0]}`, abortSignal);
        if (isTaken) throw inTheWay(posix.join(parent, missing[0] ?? ""));
        await writeDirectories(engine.docker, id, { path: MOUNT, entries }, abortSignal);
      });
      return;
    } catch (error) {
      const cause = toEngineError(error);
      if (IN_THE_WAY.test(String(error))) throw inTheWay(posix.join(parent, missing[0] ?? ""), error);
      if (cause.kind !== "mount_missing" || parent === "/") throw cause;
      missing.unshift(posix.basename(parent));
      parent = posix.dirname(parent);
    }
  }
}

function inTheWay(path: string, cause?: unknown): EngineError {
  return new EngineError("conflict", `${path} is in the way, such as a link that leads nowhere`, { cause });
}

/**
 * Fails with `mount_missing` if a directory of the device does not exist. For Podman, whose Docker-compatible create call
 * makes it.
 */
export function requireMountSources(
  engine: HelperEngine,
  { sources, ...helper }: Pick<HelperOptions, "image" | "labels"> & { readonly sources: readonly string[] },
  abortSignal: AbortSignal,
): Promise<void> {
  const mounts = sources.map((source, index) => ({ source, target: `${MOUNT}/${index}` }));
  return withHelper(engine, { ...helper, mounts }, abortSignal, async () => {});
}

/** Writes files into a directory of the device. */
export function writeDeviceFiles(
  engine: HelperEngine,
  { directory, files, ...helper }: DeviceFilesRequest,
  abortSignal: AbortSignal,
): Promise<void> {
  const mounts = [{ source: directory, target: MOUNT }];
  return withHelper(engine, { ...helper, mounts }, abortSignal, async (id) => {
    await writeFiles(engine.docker, id, { path: MOUNT, files }, abortSignal);
  });
}

/** Returns the contents of files in a directory of the device. */
export function readDeviceFiles(
  engine: HelperEngine,
  { directory, names, maxBytes, image, labels }: FilesReading,
  abortSignal: AbortSignal,
): Promise<readonly (Uint8Array | undefined)[]> {
  const mounts = [{ source: directory, target: MOUNT }];
  return withHelper(engine, { image, labels, mounts }, abortSignal, async (id) => {
    const contents: (Uint8Array | undefined)[] = [];
    for (const name of names) {
      const found = await readPath(engine, id, { path: `${MOUNT}/${name}`, maxBytes }, abortSignal);
      contents.push(found?.kind === "file" ? found.content : undefined);
    }
    return contents;
  });
}
