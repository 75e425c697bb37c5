import type Docker from "dockerode";
import type { ImageFacts, ImageSummary } from "../engine.ts";
import { digestName, localReference, digestTag, pullTarget } from "./engine-reference.ts";
import { getJson } from "./get.ts";
import { requireFields, requireList } from "./shape.ts";
import { unlessStatus } from "./unless-status.ts";
import { parseImageReference } from "../../../protocol/apps/image-reference.ts";

interface ImageInspect {
  readonly Id: string;
  readonly Architecture: string;
  readonly Os: string;
  readonly Size: number;
  readonly RepoDigests?: readonly string[] | null;
  readonly Config?: { readonly User?: string | null } | null;
  readonly RootFS?: { readonly Layers?: readonly string[] | null } | null;
}

/** Returns an image on the machine; `undefined` if it does not exist. */
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
  const facts = requireFields(info, { Id: "", Architecture: "", Os: "", Size: 0 });
  const { Id: id, Architecture: architecture, Os: os, Size: size, RepoDigests: repoDigests, Config: config } = facts;
  return { id, architecture, os, size, repoDigests: repoDigests ?? [], user: config?.User ?? "" };
}

/** Returns the engine's name of a reference's image; the reference itself if the image is not on the machine. */
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

/** Lists the images on the machine, without intermediate ones. */
export async function listImages(docker: Docker, abortSignal: AbortSignal): Promise<ImageSummary[]> {
  const listed = await getJson<readonly ImageEntry[]>(docker, "/images/json", abortSignal);
  return requireList(listed).map((entry) => {
    const { Id: id, Size: size, RepoTags: tags, RepoDigests: digests } = requireFields(entry, { Id: "", Size: 0 });
    return { id, size, names: named(tags), repoDigests: named(digests) };
  });
}

/** Some versions list an image without a name as `<none>`. */
function named(names: readonly string[] | null | undefined): string[] {
  return (names ?? []).filter((name) => !name.includes("<none>"));
}

/** Returns the diff ids of an image's layers, lowest first; `undefined` if it does not exist. */
export async function diffIdsOf(
  docker: Docker,
  imageId: string,
  abortSignal: AbortSignal,
): Promise<readonly string[] | undefined> {
  const info = await inspect(docker, imageId, abortSignal);
  return info && (info.RootFS?.Layers ?? []);
}

/** Gives an image another name. Engines accept no digest as a name, so a tag stands for it. */
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

/** Removes a name of an image; no error if it does not exist. */
export async function untagImage(docker: Docker, reference: string, abortSignal: AbortSignal): Promise<void> {
  for (const name of [localReference(reference), digestName(reference)]) {
    if (name !== undefined) await unlessStatus(404, docker.getImage(name).remove({ abortSignal }));
  }
}
