import type { AppSpec } from "../../protocol/apps/app-spec.ts";
import { normalizePath } from "../../protocol/values/normalize-path.ts";
import {
  type ExternalVolume,
  externalVolumesOf,
  type NamedVolume,
  namedVolumesOf,
  type OwnerIds,
  parseOwner,
} from "../../protocol/apps/volume-fields.ts";
import { LABELS } from "../core/app/container.ts";
import {
  findExternalFault,
  type FoundExternal,
  type VolumeState,
  volumeUses,
} from "../core/deployment/check-volumes.ts";
import { toRefusalFailure } from "../core/deployment/check.ts";
import type { Failure } from "../core/records.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { VolumeMount } from "../engine/engine.ts";
import { engineVolumeName, managedVolume, volumeLabels, volumeLock } from "../engine/volume-names.ts";
import type { ContainerStepContext, StepContext } from "./context.ts";
import { helperLabelsOf, readMountPoint } from "./mount-point.ts";

type VolumeContext = Pick<ContainerStepContext, "engine" | "store" | "config" | "signal" | "deploymentId">;

/** A volume that was made, by the name that the app gives it. */
export interface MadeVolume {
  readonly name: string;
  readonly message: string;
}

/** Returns how a container mounts the volumes of its app that the engine has. */
export function volumeMounts(spec: AppSpec, stateDir: string): VolumeMount[] {
  const managed = namedVolumesOf(spec).map((volume) => toMount(engineVolumeName(volume.name, stateDir), volume));
  const external = externalVolumesOf(spec).map((volume) => toMount(volume.external, volume, true));
  return [...managed, ...external];
}

function toMount(
  name: string,
  { target, readonly, nocopy = false, subpath }: NamedVolume | ExternalVolume,
  isExternal?: true,
): VolumeMount {
  return {
    name,
    target,
    readonly,
    ...(isExternal && { isExternal }),
    ...(nocopy && { nocopy }),
    ...(subpath !== undefined && { subpath }),
  };
}

/** Reads what the check of an app's volumes depends on. */
export async function readVolumeState(
  context: Pick<StepContext, "engine" | "store" | "config" | "record" | "replacedApps" | "signal">,
  spec: AppSpec,
): Promise<VolumeState> {
  const { engine, store, config, record, replacedApps, signal } = context;
  const volumes = namedVolumesOf(spec);
  const external = await findExternal(context, spec);
  if (volumes.length === 0) return { uses: [], foreign: [], external };
  const foreign: { volume: string; engineName: string }[] = [];
  for (const name of new Set(volumes.map((volume) => volume.name))) {
    const engineName = engineVolumeName(name, config.stateDir);
    const found = await engine.volumes.find(engineName, signal);
    if (found && managedVolume(found, config.stateDir) === undefined) foreign.push({ volume: name, engineName });
  }
  const apps = store.apps().filter(({ name }) => !replacedApps.has(name));
  const known = { apps, deployments: store.deployments() };
  const uses = volumeUses(known, { app: spec.name, order: record.order, group: record.group?.id });
  return { uses, foreign, external };
}

type FindContext = Pick<StepContext, "engine" | "config" | "signal">;

/** Looks for the volumes of the engine that an app is to have and the agent does not make. */
async function findExternal({ engine, config, signal }: FindContext, spec: AppSpec): Promise<FoundExternal[]> {
  const found: FoundExternal[] = [];
  for (const name of new Set(externalVolumesOf(spec).map(({ external }) => external))) {
    const volume = await engine.volumes.find(name, signal);
    const ofAgent = volume?.labels[LABELS.stateDir];
    const isManaged = (await engine.volumes.find(engineVolumeName(name, config.stateDir), signal)) !== undefined;
    found.push({ name, exists: volume?.name === name, isManaged, ...(ofAgent !== undefined && { ofAgent }) });
  }
  return found;
}

/** Returns why an app cannot have a volume that the agent does not make: engines make one that is missing. */
export async function externalVolumeFailure(
  context: FindContext,
  spec: AppSpec,
  step: Failure["step"],
): Promise<Failure | undefined> {
  const refusal = findExternalFault(await findExternal(context, spec));
  return refusal && toRefusalFailure(refusal, step);
}

/**
 * Makes the app's volumes that do not exist, before its container is created. Volumes that exist stay as they are, except
 * one that a crash left unfinished: it was made for this deployment, which has not installed the app yet.
 */
export async function makeVolumes(context: VolumeContext, spec: AppSpec, image: string): Promise<MadeVolume[]> {
  const made: MadeVolume[] = [];
  for (const volume of firstOfEachName(namedVolumesOf(spec))) {
    const engineName = engineVolumeName(volume.name, context.config.stateDir);
    using _lease = await volumeLock.acquire(engineName, context.signal);
    const found = await context.engine.volumes.find(engineName, context.signal);
    if (found && found.labels[LABELS.deployment] !== context.deploymentId) continue;
    const isInstalled = context.store.apps().some(({ deploymentId }) => deploymentId === context.deploymentId);
    if (found && isInstalled) continue;
    made.push(await makeVolume(context, { spec, image, volume, engineName }));
  }
  return made;
}

/** Removes volumes again that were made for a container that was not created. */
export async function removeMadeVolumes(context: VolumeContext, made: readonly MadeVolume[]): Promise<void> {
  for (const { name } of made) {
    try {
      await context.engine.volumes.remove(engineVolumeName(name, context.config.stateDir), context.signal);
    } catch (error) {
      // It is empty, and the list of volumes shows it.
      if (!(error instanceof EngineError)) throw error;
    }
  }
}

interface NewVolume {
  readonly spec: AppSpec;
  readonly image: string;
  readonly volume: NamedVolume;
  readonly engineName: string;
}

async function makeVolume(context: VolumeContext, asked: NewVolume): Promise<MadeVolume> {
  const { engine, config, signal, deploymentId, store } = context;
  const { spec, image, volume, engineName } = asked;
  const { name, target } = volume;
  const owner = await findOwner(context, asked);
  // Engines fill a volume with what the image has where it is mounted, which is not what belongs beside a directory in it.
  const isEmpty = volume.nocopy === true || volume.subpath !== undefined;
  const mounted = isEmpty ? NOT_IN_IMAGES : normalizePath(target);
  const container = { image, labels: helperLabelsOf(spec, config.stateDir), target: mounted };
  const labels = volumeLabels(name, config.stateDir, deploymentId);
  await engine.volumes.create({ name: engineName, labels, owner, container }, signal);
  const installed = store.apps().find((app) => app.name === spec.name);
  const isLost = installed !== undefined && namedVolumesOf(installed.spec).some((other) => other.name === name);
  const what = isLost
    ? `Volume ${name} is not on the device any more: it is made anew, without its data`
    : `Volume ${name} is made`;
  return { name, message: `${what}${owner ? `, owned by ${owner.uid}:${owner.gid}` : ""}.` };
}

/** A directory that no image has. */
const NOT_IN_IMAGES = "/.edge-agent-empty-volume";

/** `undefined` to leave it to the engine, which takes the owner that the image has there, or root. */
async function findOwner(context: VolumeContext, { spec, image, volume }: NewVolume): Promise<OwnerIds | undefined> {
  if (volume.owner !== undefined) return parseOwner(volume.owner);
  const { inImage: there, user } = await readMountPoint(context, spec, image, volume.target);
  const inImage = volume.subpath === undefined ? there : undefined;
  // Where the image has nothing, the app could not write to a directory of root's.
  if (inImage && volume.nocopy) return inImage.owner;
  return inImage || (user.uid === 0 && user.gid === 0) ? undefined : user;
}

/** An app may mount a volume several times. The entry with an owner decides, or the first, of the whole volume if there is one. */
function firstOfEachName(volumes: readonly NamedVolume[]): NamedVolume[] {
  const names = [...new Set(volumes.map(({ name }) => name))];
  return names.flatMap((name) => {
    const own = volumes.filter((volume) => volume.name === name);
    const whole = own.find(({ subpath }) => subpath === undefined);
    return own.find(({ owner }) => owner !== undefined) ?? whole ?? own[0] ?? [];
  });
}
