import type { RegistryAuth } from "../../protocol/apps/deploy-request.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { parseImageReference } from "../../protocol/apps/image-reference.ts";

/** Finds out the digests of images. */
export interface ImageResolver {
  /**
   * Returns the reference with the digest that its tag has now. One that has a digest is returned as it is. Error:
   * `ImageNotResolved`.
   */
  resolve(reference: string, auth: RegistryAuth | undefined, signal: AbortSignal): Promise<string>;
}

/** Accepts references that have their digest. For a service that has no way to registries. */
export class PinnedImages implements ImageResolver {
  async resolve(reference: string): Promise<string> {
    if (parseImageReference(reference)?.digest !== undefined) return reference;
    const message = `The service does not ask registries; write the image ${reference} with its digest.`;
    throw new EdgeError("ImageNotResolved", message, { image: reference, reason: "no_digest" });
  }
}
