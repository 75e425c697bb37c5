import type Docker from "dockerode";
import type { ImageSummary } from "../engine.ts";
import { getJson } from "./get.ts";
import { asList, withFields } from "./shape.ts";

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
