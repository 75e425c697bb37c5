import type Docker from "dockerode";
import type { ImageFacts, ImageSummary, LayerChain } from "../engine.ts";
import { digestName, localReference, digestTag, pullTarget } from "./engine-reference.ts";
import { getJson } from "./get.ts";
import { withFields, asList } from "./shape.ts";
import { unlessStatus } from "./unless-status.ts";
import { parseImageReference } from "../../../protocol/image-reference.ts";

interface ImageInspect {
  readonly Id: string;
  readonly Architecture: string;
  readonly Os: string;
  readonly Size: number;
  readonly RepoDigests?: readonly string[] | null;
  readonly RootFS?: { readonly Layers?: readonly string[] | null } | null;
}

/** What the engine knows of an image on the machine; `undefined` where it is not there. */
export async function inspectImage(
  docker: Docker,
  reference: string,
  abortSignal: AbortSignal,
): Promise<ImageFacts | undefined> {
  const byDigest = digestName(reference);
  const info =
    (await inspect(docker, localReference(reference), abortSignal)) ??
    (byDigest === undefined ? undefined : await inspect(docker, byDigest, abortSignal));
  if (!info) return undefined;
  const facts = withFields(info, { Id: "", Architecture: "", Os: "", Size: 0 });
  const { Id: id, Architecture: architecture, Os: os, Size: size, RepoDigests: repoDigests } = facts;
  return { id, architecture, os, size, repoDigests: repoDigests ?? [] };
}

/** The name the engine knows the image of a reference by. A reference to nothing on the machine stays as it is. */
export async function findLocalName(docker: Docker, reference: string, abortSignal: AbortSignal): Promise<string> {
  const byDigest = digestName(reference);
  if (byDigest === undefined || (await inspect(docker, localReference(reference), abortSignal))) return reference;
  return (await inspect(docker, byDigest, abortSignal)) ? byDigest : reference;
}

function inspect(docker: Docker, name: string, abortSignal: AbortSignal): Promise<ImageInspect | undefined> {
  const path = `/images/${name.split("/").map(encodeURIComponent).join("/")}/json`;
  return unlessStatus(404, getJson<ImageInspect>(docker, path, abortSignal));
}

interface ImageEntry {
  readonly Id: string;
  readonly Size: number;
  readonly RepoTags?: readonly string[] | null;
  readonly RepoDigests?: readonly string[] | null;
}

/** Every image on the machine that is not a part of another one only. */
export async function listImages(docker: Docker, abortSignal: AbortSignal): Promise<ImageSummary[]> {
  const listed = await getJson<readonly ImageEntry[]>(docker, "/images/json", abortSignal);
  return asList(listed).map((entry) => {
    const { Id: id, Size: size, RepoTags: tags, RepoDigests: digests } = withFields(entry, { Id: "", Size: 0 });
    return { id, size, names: named(tags), repoDigests: named(digests) };
  });
}

/** Images without a name have one in some versions, which says so. */
function named(names: readonly string[] | null | undefined): string[] {
  return (names ?? []).filter((name) => !name.includes("<none>"));
}

/** Ids of the images on the machine. */
export async function listImageIds(docker: Docker, abortSignal: AbortSignal): Promise<readonly string[]> {
  const listed = asList(await getJson<readonly ImageEntry[]>(docker, "/images/json", abortSignal));
  return [...new Set(listed.map((entry) => withFields(entry, { Id: "" }).Id))];
}

/** The layers of one image, `undefined` where it is gone. */
export async function layerChain(
  docker: Docker,
  imageId: string,
  abortSignal: AbortSignal,
): Promise<LayerChain | undefined> {
  const info = await inspect(docker, imageId, abortSignal);
  if (!info) return undefined;
  const { RepoDigests: digests, RootFS: root } = info;
  return { imageId, diffIds: root?.Layers ?? [], isFromRegistry: (digests ?? []).length > 0 };
}

/**
 * Gives an image a further name. No engine takes a digest for a name, so an image that is to be found by one gets a tag
 * that says it.
 */
export async function tagImage(
  docker: Docker,
  idOrName: string,
  reference: string,
  abortSignal: AbortSignal,
): Promise<void> {
  const { fromImage: repo, tag } = pullTarget(reference);
  const isDigest = parseImageReference(reference)?.digest !== undefined;
  await docker.getImage(localReference(idOrName)).tag({ repo, tag: isDigest ? digestTag(tag) : tag, abortSignal });
}

/** Takes a name off an image. A name that is not there is no error. */
export async function untagImage(docker: Docker, reference: string, abortSignal: AbortSignal): Promise<void> {
  for (const name of [localReference(reference), digestName(reference)]) {
    if (name !== undefined) await unlessStatus(404, docker.getImage(name).remove({ abortSignal }));
  }
}
