import Docker from "dockerode";
import { LABELS } from "../../src/agent/core/app/container.ts";

/**
 * Removes what an agent has made on the engine: containers, networks and volumes of apps. The agent must have ended.
 *
 * @param socketPath of the engine; default: that of the machine
 */
export async function removeApps(stateDir: string, socketPath?: string): Promise<void> {
  const docker = new Docker(socketPath === undefined ? undefined : { socketPath });
  const ours = { filters: { label: [`${LABELS.stateDir}=${stateDir}`] } };
  const containers = await docker.listContainers({ all: true, ...ours });
  for (const { Id } of containers) await docker.getContainer(Id).remove({ force: true, v: true });
  for (const { Id } of await docker.listNetworks(ours)) await docker.getNetwork(Id).remove();
  for (const { Name } of (await docker.listVolumes(ours)).Volumes) await docker.getVolume(Name).remove();
}
