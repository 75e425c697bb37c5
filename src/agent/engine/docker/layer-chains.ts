import type Docker from "dockerode";
import type { LayerChain } from "../engine.ts";
import { getJson } from "./get.ts";
import { asList, withFields } from "./shape.ts";
import { unlessStatus } from "./unless-status.ts";

interface Listed {
  readonly Id: string;
}

interface Inspected {
  readonly RepoDigests?: readonly string[] | null;
  readonly RootFS?: { readonly Layers?: readonly string[] | null } | null;
}

/** Ids of the images on the machine. */
export async function listImageIds(docker: Docker, abortSignal: AbortSignal): Promise<readonly string[]> {
  const listed = asList(await getJson<Listed[]>(docker, "/images/json", abortSignal));
  return [...new Set(listed.map((entry) => withFields(entry, { Id: "" }).Id))];
}

/** The layers of one image, `undefined` where it is gone. */
export async function layerChain(
  docker: Docker,
  imageId: string,
  abortSignal: AbortSignal,
): Promise<LayerChain | undefined> {
  const path = `/images/${encodeURIComponent(imageId)}/json`;
  const info = await unlessStatus(404, getJson<Inspected>(docker, path, abortSignal));
  if (!info) return undefined;
  const { RepoDigests: digests, RootFS: root } = info;
  return { imageId, diffIds: root?.Layers ?? [], isFromRegistry: (digests ?? []).length > 0 };
}
