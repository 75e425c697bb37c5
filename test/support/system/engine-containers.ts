import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { NETWORK_LABEL } from "../../../src/agent/core/app/networks.ts";
import { LABELS } from "../../../src/agent/core/app/container.ts";
import { engineRequest } from "../images.ts";

/** A container in the engine's list. */
export interface ListedContainer {
  readonly Id: string;
  readonly Names: readonly string[];
  readonly State: string;
  readonly Labels: Readonly<Record<string, string>>;
}

/** The fields of `docker inspect` that tests use. */
export interface ContainerInspection {
  readonly Id: string;
  readonly Name: string;
  readonly State: { readonly Status: string; readonly StartedAt: string };
  readonly Config: { readonly Env: readonly string[]; readonly Labels: Readonly<Record<string, string>> };
  readonly HostConfig: Readonly<Record<string, unknown>>;
  readonly Mounts: readonly Readonly<Record<string, unknown>>[];
  /** Of Docker's classic image store. */
  readonly GraphDriver?: { readonly Data: Readonly<Record<string, string>> };
}

/** Every container of the engine, running or not. */
export async function listContainers(socketPath: string): Promise<ListedContainer[]> {
  const { status, body } = await engineRequest(socketPath, "GET", "/containers/json?all=1");
  if (status !== 200) throw new Error(`cannot list the engine's containers: ${status} ${body}`);
  return JSON.parse(body) as ListedContainer[];
}

/**
 * Removes the containers whose app or name has the prefix, and the networks of agents. Does nothing if no engine responds.
 *
 * @param directory holds the state directory of the agent
 */
export async function removeContainers(socketPath: string, prefix: string, directory: string): Promise<void> {
  const containers = await listContainers(socketPath).catch(() => []);
  const ours = containers.filter(({ Names, Labels }) => {
    return Labels?.[LABELS.app]?.startsWith(prefix) || Names.some((name) => name.startsWith(`/${prefix}`));
  });
  for (const { Id } of ours) await engineRequest(socketPath, "DELETE", `/containers/${Id}?force=1&v=1`);
  await removeNetworks(socketPath, directory).catch(() => {});
}

/**
 * Removes the networks of agents in the directory, and what killed tests left: engines have room for about thirty. One
 * that is in use stays.
 */
async function removeNetworks(socketPath: string, directory: string): Promise<void> {
  const filters = encodeURIComponent(JSON.stringify({ label: [NETWORK_LABEL] }));
  const { status, body } = await engineRequest(socketPath, "GET", `/networks?filters=${filters}`);
  if (status !== 200) return;
  for (const { Name, Labels } of JSON.parse(body) as Pick<ListedContainer, "Labels">[] & { Name: string }[]) {
    const stateDir = Labels[LABELS.stateDir] ?? "";
    const isLeft = stateDir.startsWith(`${tmpdir()}/`) && !existsSync(stateDir);
    if (isLeft || stateDir.startsWith(`${directory}/`)) await engineRequest(socketPath, "DELETE", `/networks/${Name}`);
  }
}

interface ListedVolume {
  readonly Name: string;
  readonly Mountpoint: string;
  readonly Labels?: Readonly<Record<string, string>> | null;
}

/** The engine's volumes that agents manage under a name with the prefix. */
export async function listVolumes(socketPath: string, prefix: string): Promise<ListedVolume[]> {
  const { status, body } = await engineRequest(socketPath, "GET", "/volumes");
  if (status !== 200) throw new Error(`cannot list the engine's volumes: ${status} ${body}`);
  const { Volumes } = JSON.parse(body) as { readonly Volumes: readonly ListedVolume[] | null };
  return (Volumes ?? []).filter(({ Labels }) => Labels?.["io.edge-agent.volume"]?.startsWith(prefix) ?? false);
}

/** Removes the volumes that agents manage under a name with the prefix. Does nothing if no engine responds. */
export async function removeVolumes(socketPath: string, prefix: string): Promise<void> {
  const volumes = await listVolumes(socketPath, prefix).catch(() => []);
  for (const { Name } of volumes) await engineRequest(socketPath, "DELETE", `/volumes/${Name}`);
}
