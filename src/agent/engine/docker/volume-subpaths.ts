import type Docker from "dockerode";
import { EngineError } from "../engine-error.ts";
import type { ContainerRequest } from "../engine.ts";
import { hasVolumeSubpaths, readEngineVersion } from "./read-info.ts";

/**
 * Rejects a container with a directory of a volume where the engine would mount the whole volume without a word: the check has
 * seen another engine if this one was replaced by an older one.
 */
export async function requireVolumeSubpaths(
  docker: Docker,
  { namedVolumes = [] }: ContainerRequest,
  abortSignal: AbortSignal,
): Promise<void> {
  const volume = namedVolumes.find(({ subpath }) => subpath !== undefined);
  if (!volume) return;
  const engine = await readEngineVersion(docker, abortSignal);
  if (hasVolumeSubpaths(engine)) return;
  throw new EngineError(
    "invalid",
    `${engine.kind} ${engine.version} cannot mount a directory of the volume ${volume.name}`,
  );
}
