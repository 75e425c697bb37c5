import { parseImageAddress } from "../../lib/registry/address.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import type { RegistryAuth } from "../../protocol/apps/deploy-request.ts";
import { invalidRequest } from "../../protocol/errors/request-error.ts";
import type { ImageResolver } from "./image-resolver.ts";

const MAX_PARALLEL = 8;

/**
 * Resolves the images of a revision: each reference once, so that the same tag means the same image in all apps. The first error
 * aborts the others. Errors: `ImageNotResolved`, and `InvalidRequest` if the credentials could reach several registries.
 */
export async function resolveImages(
  resolver: ImageResolver,
  references: readonly string[],
  auth: RegistryAuth | undefined,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const written = [...new Set(references)];
  if (auth) requireOneRegistry(written);
  const slots = new Semaphore(MAX_PARALLEL);
  const siblings = new AbortController();
  const either = AbortSignal.any([signal, siblings.signal]);
  const resolveOne = async (reference: string): Promise<readonly [string, string]> => {
    try {
      using _slot = await slots.acquire(either);
      // Another may have failed since the slot was granted.
      either.throwIfAborted();
      return [reference, await resolver.resolve(reference, auth, either)];
    } catch (error) {
      // The reason of the others too, so that the first error is the one reported.
      siblings.abort(error);
      throw error;
    }
  };
  // Nothing goes on in the background after an error.
  const settled = await Promise.allSettled(written.map(resolveOne));
  signal.throwIfAborted();
  if (siblings.signal.aborted) throw siblings.signal.reason;
  return new Map(settled.flatMap((result) => (result.status === "fulfilled" ? [result.value] : [])));
}

/** Credentials for one registry must not be shown to another. Images with a digest are not asked for. */
function requireOneRegistry(references: readonly string[]): void {
  const asked = references.flatMap((reference) => parseImageAddress(reference) ?? []).filter(({ digest }) => !digest);
  const hosts = new Set(asked.map(({ host }) => host));
  if (hosts.size < 2) return;
  const reason =
    `the images with a tag are in several registries (${[...hosts].toSorted().join(", ")}), and the credentials are for one: ` +
    "write the images of the others with their digests";
  throw invalidRequest([{ path: "registry_auth", reason }]);
}
