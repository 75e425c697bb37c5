import Docker from "dockerode";
import { type Target, listDeployments } from "../system/client.ts";

/** Removes the containers of every app that was deployed to the asset. */
export async function removeApps(target: Target): Promise<void> {
  const docker = new Docker();
  const deployments = new Set(await listDeployments(target));
  const containers = await docker.listContainers({ all: true, filters: { label: ["io.edge-agent.deployment"] } });
  const ours = containers.filter(({ Labels }) => deployments.has(Labels["io.edge-agent.deployment"] ?? ""));
  for (const { Id } of ours) await docker.getContainer(Id).remove({ force: true, v: true });
}

/** Removes an image where it is there. */
export async function removeImage(reference: string): Promise<void> {
  const docker = new Docker();
  const images = await docker.listImages({ filters: { reference: [reference] } });
  if (images.length > 0) await docker.getImage(reference).remove();
}
