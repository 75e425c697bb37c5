import type Docker from "dockerode";
import type { ImageFacts } from "../engine.ts";
import { localReference } from "./engine-reference.ts";
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
  const name = localReference(reference).split("/").map(encodeURIComponent).join("/");
  const info = await unlessStatus(404, getJson<ImageInspect>(docker, `/images/${name}/json`, abortSignal));
  if (!info) return undefined;
  const facts = withFields(info, { Id: "", Architecture: "", Os: "", Size: 0 });
  const { Id: id, Architecture: architecture, Os: os, Size: size, RepoDigests: repoDigests } = facts;
  return { id, architecture, os, size, repoDigests: repoDigests ?? [] };
}
