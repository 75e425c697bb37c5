import type { RegistryAuth } from "../../protocol/apps/deploy-request.ts";

/** Finds out the digests of images. */
export interface ImageResolver {
  /**
   * Returns the reference with the digest that its tag has now. One that has a digest is returned as it is. Error:
   * `ImageNotResolved`.
   */
  resolve(reference: string, auth: RegistryAuth | undefined, signal: AbortSignal): Promise<string>;
}
