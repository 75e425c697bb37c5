import type Docker from "dockerode";
import type { EngineVolumes, Label, VolumeRequest, VolumeSummary } from "../volumes.ts";
import { pathMode, writeDirectories } from "./container-archive.ts";
import { getJson } from "./get.ts";
import { type HelperEngine, withHelper } from "./helper-container.ts";
import { unlessStatus } from "./unless-status.ts";

/** Where a helper mounts a volume to change the owner of its directory, and the name of that directory. */
const MOUNT = "/edge-agent-volume";
const DIRECTORY = "volume";

/** How calls to the engine are made: each with its timeout. */
export interface VolumeCalls {
  readonly query: <T>(signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  readonly change: <T>(signal: AbortSignal, run: (signal: AbortSignal) => Promise<T>) => Promise<T>;
  readonly helperEngine: (signal: AbortSignal) => Promise<HelperEngine>;
  readonly connect: () => Docker;
}

export function engineVolumes({ query, change, helperEngine, connect }: VolumeCalls): EngineVolumes {
  return {
    find: (name, signal) => query(signal, (abortSignal) => findVolume(connect(), name, abortSignal)),
    list: (label, signal) => query(signal, (abortSignal) => listVolumes(connect(), label, abortSignal)),
    create: (request, signal) =>
      change(signal, async (abortSignal) => {
        await createVolume(await helperEngine(abortSignal), request, abortSignal);
      }),
    remove: (name, signal) => change(signal, (abortSignal) => removeVolume(connect(), name, abortSignal)),
    // It reads whole directories.
    measure: (signal) => change(signal, (abortSignal) => measureVolumes(connect(), abortSignal)),
  };
}

interface ListedVolume {
  readonly Name: string;
  readonly Labels?: Readonly<Record<string, string>> | null;
  readonly CreatedAt?: string;
  readonly UsageData?: { readonly Size: number } | null;
}

async function findVolume(docker: Docker, name: string, abortSignal: AbortSignal): Promise<VolumeSummary | undefined> {
  const path = `/volumes/${encodeURIComponent(name)}`;
  const found = await unlessStatus(404, getJson<ListedVolume>(docker, path, abortSignal));
  return found && toSummary(found);
}

async function listVolumes(docker: Docker, { key, value }: Label, abortSignal: AbortSignal): Promise<VolumeSummary[]> {
  const filters = JSON.stringify({ label: [`${key}=${value}`] });
  const { Volumes } = await getJson<{ readonly Volumes?: readonly ListedVolume[] | null }>(
    docker,
    "/volumes",
    abortSignal,
    { filters },
  );
  return (Volumes ?? []).map(toSummary);
}

function toSummary({ Name: name, Labels, CreatedAt }: ListedVolume): VolumeSummary {
  const createdMs = Date.parse(CreatedAt ?? "");
  return { name, labels: Labels ?? {}, createdAt: createdMs > 0 ? Math.floor(createdMs / 1000) : undefined };
}

async function createVolume(
  engine: HelperEngine,
  { name, labels, owner, container: { image, labels: containerLabels, target } }: VolumeRequest,
  abortSignal: AbortSignal,
): Promise<void> {
  const { docker, kind } = engine;
  // Podman gives the directory this owner, and leaves it when it copies what the image has.
  const DriverOpts = owner && kind === "podman" ? { o: `uid=${owner.uid},gid=${owner.gid}` } : {};
  await docker.createVolume({ Name: name, Labels: { ...labels }, DriverOpts, abortSignal });
  if (kind === "podman") return;
  // Docker copies what the image has, with the directory's owner, when a container is created with an empty volume: the
  // helper's, so that a volume that an app leaves empty keeps its owner. See `createOptions`.
  const volumes = [
    { name, target },
    { name, target: `${MOUNT}/${DIRECTORY}` },
  ];
  await withHelper(engine, { image, labels: containerLabels, volumes }, abortSignal, async (id) => {
    if (!owner) return;
    const mode = await pathMode(docker, id, `${MOUNT}/${DIRECTORY}`, abortSignal);
    const entries = [{ name: DIRECTORY, owner, mode }];
    await writeDirectories(docker, id, { path: MOUNT, entries }, abortSignal);
  });
}

async function removeVolume(docker: Docker, name: string, abortSignal: AbortSignal): Promise<void> {
  await unlessStatus(404, docker.getVolume(name).remove({ abortSignal }));
}

async function measureVolumes(docker: Docker, abortSignal: AbortSignal): Promise<ReadonlyMap<string, number>> {
  // Docker before 23 ignores the type.
  const { Volumes } = await getJson<{ readonly Volumes?: readonly ListedVolume[] | null }>(
    docker,
    "/system/df",
    abortSignal,
    { type: "volume" },
  );
  const sizes = (Volumes ?? []).map(({ Name, UsageData }) => [Name, UsageData?.Size ?? -1] as const);
  return new Map(sizes.filter(([, size]) => size >= 0));
}
