import { parseImageReference } from "../../protocol/image-reference.ts";
import { RegistryError } from "./registry-error.ts";

/** A reference as the parts of a request to a registry. */
export interface ImageAddress {
  /** The name used in references. */
  readonly registry: string;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/** Names of Docker Hub in references. */
const DOCKER_HUB = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);
const DOCKER_HUB_HOST = "registry-1.docker.io";

/** Parses a reference. Expands the short names of Docker Hub's official images. Throws `RegistryError`. */
export function imageAddress(reference: string): ImageAddress {
  const parsed = parseImageReference(reference);
  if (!parsed) throw new RegistryError("image_not_found", `${reference} is not an image reference`);
  const { repository, tag, digest } = parsed;
  const registry = canonicalRegistry(parsed.registry);
  const isOfficial = registry === "docker.io" && !repository.includes("/");
  return { registry, repository: isOfficial ? `library/${repository}` : repository, tag, digest };
}

/** Returns the reference with the digest in place of its tag. Leaves a reference that has a digest as it is. */
export function pinToDigest(reference: string, digest: string | undefined): string {
  const { registry, repository, digest: own } = imageAddress(reference);
  return own === undefined && digest !== undefined ? `${registry}/${repository}@${digest}` : reference;
}

/** Returns one name for each registry: Docker Hub has several. */
export function canonicalRegistry(registry: string): string {
  const host = registry.toLowerCase();
  return DOCKER_HUB.has(host) ? "docker.io" : host;
}

/** Returns the host, with optional port, of a registry. */
export function registryHost(registry: string): string {
  return canonicalRegistry(registry) === "docker.io" ? DOCKER_HUB_HOST : registry;
}
