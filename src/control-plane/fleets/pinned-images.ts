import { EdgeError } from "../../protocol/errors/errors.ts";
import { parseImageReference } from "../../protocol/apps/image-reference.ts";
import type { ImageResolver } from "../images/image-resolver.ts";

/** Accepts references that have their digest. For a service that has no way to registries. */
export class PinnedImages implements ImageResolver {
  async resolve(reference: string): Promise<string> {
    if (parseImageReference(reference)?.digest !== undefined) return reference;
    const message = `The service does not ask registries; write the image ${reference} with its digest.`;
    throw new EdgeError("ImageNotResolved", message, { image: reference, reason: "no_digest" });
  }
}
