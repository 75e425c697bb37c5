import { parseImageReference } from "../../protocol/image-reference.ts";
import { RegistryError } from "./registry-error.ts";

/** What to ask which registry for. */
export interface ImageAddress {
  /** As references name it. */
  readonly registry: string;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/** Names under which references mean Docker Hub. */
const DOCKER_HUB = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);
const DOCKER_HUB_HOST = "registry-1.docker.io";

/** The registry's view of a reference: the names Docker Hub gives its official images are spelled out. */
export function imageAddress(reference: string): ImageAddress {
  const parsed = parseImageReference(reference);
  if (!parsed) throw new RegistryError("image_not_found", `${reference} is not an image reference`);
  const { repository, tag, digest } = parsed;
  const registry = canonicalRegistry(parsed.registry);
  const isOfficial = registry === "docker.io" && !repository.includes("/");
  return { registry, repository: isOfficial ? `library/${repository}` : repository, tag, digest };
}

/** The reference with what its tag led to before, so that it leads there again. */
export function pinToDigest(reference: string, digest: string | undefined): string {
  const { registry, repository, digest: own } = imageAddress(reference);
  return own === undefined && digest !== undefined ? `${registry}/${repository}@${digest}` : reference;
}

/** One name for each registry: Docker Hub has several. */
export function canonicalRegistry(registry: string): string {
  const host = registry.toLowerCase();
  return DOCKER_HUB.has(host) ? "docker.io" : host;
}

/** Host and port a registry answers at. */
export function registryHost(registry: string): string {
  return canonicalRegistry(registry) === "docker.io" ? DOCKER_HUB_HOST : registry;
}
