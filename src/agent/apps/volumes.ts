import { type Clock, deadline } from "../../lib/clock.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { MAX_VOLUME_APPS, MAX_VOLUMES, type VolumeList } from "../../protocol/apps/volume-list.ts";
import { LABELS } from "../core/app/container.ts";
import { type VolumeUse, volumeUses } from "../core/deployment/check-volumes.ts";
import type { AppRecord, DeploymentRecord } from "../core/records.ts";
import { EngineError } from "../engine/engine-error.ts";
import type { Engine } from "../engine/engine.ts";
import { engineVolumeName, managedVolume, volumeLock } from "../engine/volume-names.ts";

/** After this time the volumes are listed without sizes, in milliseconds: the service waits ten seconds for an answer. */
const MEASURE_TIMEOUT_MS = 7_000;

export interface VolumeSources {
  readonly engine: Pick<Engine, "volumes">;
  readonly store: {
    apps(): readonly AppRecord[];
    deployments(): readonly DeploymentRecord[];
  };
  readonly clock: Clock;
  readonly stateDir: string;
}

/** Lists the volumes that this agent manages, by name. Rejects with an `EngineError` or the signal's reason. */
export async function listVolumes(
  { engine, store, clock, stateDir }: VolumeSources,
  { size }: { readonly size: boolean },
  signal: AbortSignal,
): Promise<VolumeList> {
  const [found, sizes] = await Promise.all([
    engine.volumes.list({ key: LABELS.stateDir, value: stateDir }, signal),
    size ? measure(engine, clock, signal) : undefined,
  ]);
  const uses = usesOf(store);
  const volumes = found.flatMap((volume) => {
    const name = managedVolume(volume, stateDir);
    if (name === undefined) return [];
    const apps = uses.filter((use) => use.volume === name).map(({ app, readonly }) => ({ app, readonly }));
    return {
      name,
      apps: apps.slice(0, MAX_VOLUME_APPS),
      apps_left_out: Math.max(0, apps.length - MAX_VOLUME_APPS),
      size_bytes: sizes?.get(volume.name) ?? null,
      created_at: volume.createdAt ?? null,
    };
  });
  const sorted = volumes.toSorted((one, other) => (one.name < other.name ? -1 : 1));
  return { volumes: sorted.slice(0, MAX_VOLUMES), left_out: Math.max(0, sorted.length - MAX_VOLUMES) };
}

async function measure(
  engine: VolumeSources["engine"],
  clock: Clock,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, number> | undefined> {
  using limit = deadline(clock, MEASURE_TIMEOUT_MS, signal);
  try {
    return await engine.volumes.measure(limit.signal);
  } catch (error) {
    signal.throwIfAborted();
    // Of a large disk, or one that is busy. The list is worth having without the sizes.
    if (error instanceof EngineError || limit.signal.aborted) return undefined;
    throw error;
  }
}

/**
 * Deletes a volume with its data. Errors: `VolumeInUse` while an app has it, `VolumeNotFound`; an `EngineError` or the
 * signal's reason.
 */
export async function removeVolume(
  { engine, store, stateDir }: VolumeSources,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const engineName = engineVolumeName(name, stateDir);
  const found = await engine.volumes.find(engineName, signal);
  if (!found || managedVolume(found, stateDir) === undefined) {
    throw new EdgeError("VolumeNotFound", `There is no volume named ${name} on this device.`);
  }
  using _lease = await volumeLock.acquire(engineName, signal);
  // Read with the lock held: a deployment may have begun in between.
  const use = usesOf(store).find(({ volume }) => volume === name);
  if (use) {
    const message = `The app ${use.app} has the volume ${name}. Remove the app first, or update it without the volume.`;
    throw new EdgeError("VolumeInUse", message, { volume: name, app: use.app });
  }
  try {
    // Not aborted: the engine would go on with it while a deployment already looks for the volume.
    await engine.volumes.remove(engineName, new AbortController().signal);
  } catch (error) {
    if (!(error instanceof EngineError) || error.kind !== "conflict") throw error;
    const message = `A container on the device has the volume ${name}: ${error.message}`;
    throw new EdgeError("VolumeInUse", message, { volume: name });
  }
}

function usesOf(store: VolumeSources["store"]): VolumeUse[] {
  const uses = volumeUses({ apps: store.apps(), deployments: store.deployments() });
  return uses.toSorted((one, other) => (one.app < other.app ? -1 : 1));
}
