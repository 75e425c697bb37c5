import type { AppSpec } from "../../protocol/app-spec.ts";
import { normalizePath } from "../../protocol/normalize-path.ts";
import { LABELS } from "../core/app/container.ts";
import type { Failure } from "../core/deployment/record.ts";
import { expectedMount, isVolatile } from "../core/host/missing-mount.ts";
import { directoryOwner, needsUserFiles, ownerOf } from "../core/image/image-user.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { ImagePath } from "../engine/engine.ts";
import type { ContainerStepContext } from "./context.ts";

type Volume = AppSpec["volumes"][number];
type MountContext = Pick<ContainerStepContext, "engine" | "store" | "config" | "signal">;

/** The container whose volumes are to exist. */
export interface MountTarget {
  readonly spec: AppSpec;
  /** Reference or id of its image. */
  readonly image: () => Promise<string>;
  readonly step: Failure["step"];
}

/** A directory that was made on the device. */
export interface MadeDirectory {
  readonly path: string;
  readonly message: string;
}

export interface MountOutcome<T> {
  readonly made: readonly MadeDirectory[];
  /** `undefined` if it failed. */
  readonly value: T | undefined;
  readonly failure?: Failure;
}

const USER_FILES = ["/etc/passwd", "/etc/group"];
const MAX_USER_FILE_BYTES = 65_536;
const DEFAULT_MODE = 0o755;

/**
 * Calls `use`, which creates or starts a container. Where that fails because a volume does not exist on the device, makes
 * it as a directory for the app's user, and calls again; what cannot be made is a failure. Precondition: the policy
 * allows the app's volumes.
 */
export async function withMissingMounts<T>(
  context: MountContext,
  target: MountTarget,
  use: () => Promise<T>,
): Promise<MountOutcome<T>> {
  const made: MadeDirectory[] = [];
  for (const tried = new Set<Volume>(); ;) {
    try {
      return { made, value: await use() };
    } catch (error) {
      const volume = isMountMissing(error) ? findVolume(target.spec, error) : undefined;
      if (!volume || tried.has(volume)) throw error;
      tried.add(volume);
      const result = await provide(context, target, volume);
      if ("code" in result) return { made, value: undefined, failure: result };
      made.push(result);
    }
  }
}

function isMountMissing(error: unknown): error is EngineError {
  return error instanceof EngineError && error.kind === "mount_missing";
}

function findVolume({ volumes }: AppSpec, { path }: EngineError): Volume | undefined {
  return path === undefined ? undefined : volumes.find(({ local }) => normalizePath(local) === normalizePath(path));
}

async function provide(
  context: MountContext,
  { spec, image: readImage, step }: MountTarget,
  volume: Volume,
): Promise<MadeDirectory | Failure> {
  const { engine, store, config, signal } = context;
  const path = normalizePath(volume.local);
  const installed = store.apps().find(({ name }) => name === spec.name);
  const isInstalled = installed?.spec.volumes.some(({ local }) => normalizePath(local) === path) ?? false;
  if (isInstalled && !isVolatile(path)) return refusal(spec, volume, { step, reason: GONE });
  const image = await readImage();
  const user = spec.user ?? (await engine.inspectImage(image, signal))?.user ?? "";
  const labels = { [LABELS.app]: spec.name, [LABELS.stateDir]: config.stateDir };
  const paths = [normalizePath(volume.target), ...(needsUserFiles(user) ? USER_FILES : [])];
  const request = { image, labels, paths, maxBytes: MAX_USER_FILE_BYTES };
  const [inImage, passwd, group] = await engine.readImagePaths(request, signal);
  if (expectedMount({ local: volume.local, inImage }) === "file")
    return refusal(spec, volume, { step, reason: NO_FILE });
  const owner = directoryOwner(inImage?.owner, ownerOf(user, { passwd: textOf(passwd), group: textOf(group) }));
  try {
    await engine.makeDirectory({ image, labels, path, owner, mode: inImage?.mode ?? DEFAULT_MODE }, signal);
  } catch (error) {
    if (!(error instanceof EngineError) || !["conflict", "invalid", "unknown"].includes(error.kind)) throw error;
    return refusal(spec, volume, { step, reason: `does not exist on the device and cannot be made: ${error.message}` });
  }
  const message = `${path} does not exist on the device: the directory is made, owned by ${owner.uid}:${owner.gid}.`;
  return { path, message };
}

function textOf(file: ImagePath | undefined): string | undefined {
  return file?.content && Buffer.from(file.content).toString();
}

const NO_FILE = "does not exist on the device, and the app mounts it as a file. Put the file there first";
const GONE =
  "was there when the app was installed and is not on the device any more. Mount its disk, or put it back if the app is " +
  "to begin without its data";

function refusal(
  { volumes }: AppSpec,
  volume: Volume,
  { step, reason }: { readonly step: Failure["step"]; readonly reason: string },
): Failure {
  const { local, target } = volume;
  const issues = [{ path: `volumes[${volumes.indexOf(volume)}].local`, reason }];
  return { code: "InvalidRequest", message: `${local} ${reason}.`, step, details: { path: local, target, issues } };
}
