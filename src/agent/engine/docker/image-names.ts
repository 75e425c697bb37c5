import type Docker from "dockerode";
import { parseImageReference } from "../../../protocol/image-reference.ts";
import { digestName, digestTag, localReference, pullTarget } from "./engine-reference.ts";
import { unlessStatus } from "./unless-status.ts";

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
