import { type ImageAddress, parseImageAddress } from "../../lib/registry/address.ts";
import { RegistryError } from "./registry-error.ts";

/** Parses a reference. Throws `RegistryError`. */
export function imageAddress(reference: string): ImageAddress {
  const address = parseImageAddress(reference);
  if (address) return address;
  throw new RegistryError("image_not_found", `${reference} is not an image reference`);
}

/** Returns the reference with the digest in place of its tag. Leaves a reference that has a digest as it is. */
export function pinToDigest(reference: string, digest: string | undefined): string {
  const { registry, repository, digest: own } = imageAddress(reference);
  return own === undefined && digest !== undefined ? `${registry}/${repository}@${digest}` : reference;
}
