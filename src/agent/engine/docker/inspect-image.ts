import type Docker from "dockerode";
import type { ImageFacts } from "../engine.ts";
import { digestName, localReference } from "./engine-reference.ts";
import { getJson } from "./get.ts";
import { withFields } from "./shape.ts";
import { unlessStatus } from "./unless-status.ts";

interface ImageInspect {
  readonly Id: string;
  readonly Architecture: string;
  readonly Os: string;
  readonly Size: number;
  readonly RepoDigests?: readonly string[] | null;
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
