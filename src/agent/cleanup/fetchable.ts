import { parseImageReference } from "../../protocol/image-reference.ts";
import type { Platform } from "../core/image/platform.ts";
import type { ImageSummary } from "../engine/engine.ts";
import { imageAddress, pinToDigest } from "../registry/address.ts";
import type { CredentialSource } from "../registry/credentials/credential-source.ts";
import { RegistryError } from "../registry/registry-error.ts";
import type { RegistryClient } from "../registry/registry.ts";

export interface FetchableSources {
  readonly registry: RegistryClient;
  readonly credentials: CredentialSource;
  readonly platform: (signal: AbortSignal) => Promise<Platform>;
}

/**
 * Why the very same image could not be pulled again right now; `undefined` where it could. Asks the registry for its
 * manifest, by digest where that is known: not one byte of a layer is transferred.
 */
export async function whyNotFetchable(
  reference: string,
  { repoDigests }: Pick<ImageSummary, "repoDigests">,
  { registry, credentials, platform }: FetchableSources,
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
