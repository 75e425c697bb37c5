import { parseImageReference } from "../../protocol/apps/image-reference.ts";
import type { Platform } from "../core/image/platform.ts";
import type { ImageSummary } from "../engine/engine.ts";
import { imageAddress, pinToDigest } from "../registry/address.ts";
import type { CredentialSource } from "../registry/credentials/credential-source.ts";
import { RegistryError } from "../registry/registry-error.ts";
import type { RegistryClient } from "../registry/registry.ts";

export interface PullObstacleServices {
  readonly registry: RegistryClient;
  readonly credentials: CredentialSource;
  readonly platform: (signal: AbortSignal) => Promise<Platform>;
}

/**
 * Resolves to why exactly this image cannot be pulled again right now; `undefined` when it can. Requests its manifest
 * from the registry, by digest where known; transfers no layer.
 */
export async function findPullObstacle(
  reference: string,
  { repoDigests }: Pick<ImageSummary, "repoDigests">,
  { registry, credentials, platform }: PullObstacleServices,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const { registry: host, repository } = parseImageReference(reference) ?? {};
    const known = repoDigests.map((name) => parseImageReference(name));
    const digest = known.find((name) => name?.registry === host && name?.repository === repository)?.digest;
    const auth = await credentials.lookup(imageAddress(reference).registry, signal);
    await registry.resolve(pinToDigest(reference, digest), await platform(signal), auth, signal);
    return undefined;
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    return error.message;
  }
}
