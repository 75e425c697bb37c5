import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import { type Bind, bindsOf, parseOwner } from "../../protocol/apps/volume-fields.ts";
import type { Failure } from "../core/records.ts";
import { expectedMount, isVolatile } from "../core/host/missing-mount.ts";
import { directoryOwner } from "../core/image/image-user.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { Host } from "../host/host.ts";
import type { ContainerStepContext } from "./context.ts";
import { helperLabelsOf, readMountPoint } from "./mount-point.ts";

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
  for (const tried = new Set<Bind>(); ;) {
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

function findVolume(spec: AppSpec, { path }: EngineError): Bind | undefined {
  return path === undefined
    ? undefined
    : bindsOf(spec).find(({ local }) => normalizePath(local) === normalizePath(path));
}

async function provide(
  context: MountContext,
  { spec, image: readImage, step }: MountTarget,
  volume: Bind,
): Promise<MadeDirectory | Failure> {
  const { engine, store, config, signal } = context;
  const path = normalizePath(volume.local);
  const installed = store.apps().find(({ name }) => name === spec.name);
  const isInstalled =
    installed !== undefined && bindsOf(installed.spec).some((bind) => normalizePath(bind.local) === path);
  if (isInstalled && !isVolatile(path)) return refusal(spec, volume, { step, reason: GONE });
  const image = await readImage();
  const { inImage, user } = await readMountPoint(context, spec, image, volume.target);
  if (expectedMount({ local: volume.local, inImage }) === "file")
    return refusal(spec, volume, { step, reason: NO_FILE });
  const owner = ownerAskedFor(volume) ?? directoryOwner(inImage?.owner, user);
  const labels = helperLabelsOf(spec, config.stateDir);
  try {
    await engine.makeDirectory({ image, labels, path, owner, mode: inImage?.mode ?? DEFAULT_MODE }, signal);
  } catch (error) {
    if (!(error instanceof EngineError) || !["conflict", "invalid", "unknown"].includes(error.kind)) throw error;
    return refusal(spec, volume, { step, reason: `does not exist on the device and cannot be made: ${error.message}` });
  }
  const message = `${path} does not exist on the device: the directory is made, owned by ${owner.uid}:${owner.gid}.`;
  return { path, message };
}

/**
 * Returns the failure of an app that mounts a file which is not on the device, as far as that can be told before its image is
 * there. Changes nothing. @param image reference or id; `undefined` if it is not on the device
 */
export async function missingFileFailure(
  context: Pick<MountContext, "engine" | "config" | "signal"> & { readonly host: Pick<Host, "isMissing"> },
  spec: AppSpec,
  image: string | undefined,
): Promise<Failure | undefined> {
  for (const volume of bindsOf(spec)) {
    if (!(await context.host.isMissing(volume.local))) continue;
    const found = image === undefined ? undefined : await readMountPoint(context, spec, image, volume.target);
    if (expectedMount({ local: volume.local, inImage: found?.inImage }) === "file")
      return refusal(spec, volume, { step: "checking", reason: NO_FILE });
  }
  return undefined;
}

function ownerAskedFor({ owner }: Bind): ReturnType<typeof parseOwner> {
  return owner === undefined ? undefined : parseOwner(owner);
}

const NO_FILE = "does not exist on the device, and the app mounts it as a file. Put the file there first";
const GONE =
  "was there when the app was installed and is not on the device any more. Mount its disk, or put it back if the app is " +
  "to begin without its data";

function refusal(
  { volumes }: AppSpec,
  volume: Bind,
  { step, reason }: { readonly step: Failure["step"]; readonly reason: string },
): Failure {
  const { local, target } = volume;
  const issues = [{ path: `volumes[${volumes.indexOf(volume)}].local`, reason }];
  return { code: "InvalidRequest", message: `${local} ${reason}.`, step, details: { path: local, target, issues } };
}
