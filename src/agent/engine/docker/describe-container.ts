import type Docker from "dockerode";
import type { ContainerConfig } from "../engine.ts";
import { findContainer } from "./find-container.ts";
import { getJson } from "./get.ts";
import { toContainerConfig } from "./container-config.ts";
import { unlessStatus } from "./unless-status.ts";

interface InspectedImage {
  readonly Config?: {
    readonly Env?: string[] | null;
    readonly Labels?: Readonly<Record<string, string>> | null;
  } | null;
}

/** What a container was made from; `undefined` where there is no such container. */
export async function readContainerConfig(
  docker: Docker,
  idOrName: string,
  abortSignal: AbortSignal,
): Promise<ContainerConfig | undefined> {
  const info = await findContainer(docker, idOrName, abortSignal);
  if (!info) return undefined;
  const path = `/images/${encodeURIComponent(info.Image)}/json`;
  const image = await unlessStatus(404, getJson<InspectedImage>(docker, path, abortSignal));
  return toContainerConfig(info, image && { environment: image.Config?.Env ?? [], labels: image.Config?.Labels ?? {} });
}
