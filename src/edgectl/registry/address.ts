import { type ImageAddress as RegistryAddress, parseImageAddress } from "../../lib/registry/address.ts";
import { usageFailure } from "../failure.ts";

export interface ImageAddress extends RegistryAddress {
  /** As the user wrote it. */
  readonly reference: string;
  /** A digest, or a tag. */
  readonly name: string;
}

/** Parses an image reference. Errors: exit code 2. */
export function parseAddress(reference: string): ImageAddress {
  const address = parseImageAddress(reference);
  if (address) return { ...address, reference, name: address.digest ?? address.tag ?? "latest" };
  throw usageFailure(
    `Not an image reference: ${reference}`,
    "Write it as for docker pull: registry.example.com/team/app:1.2",
  );
}
