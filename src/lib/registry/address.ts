import { parseImageReference } from "../../protocol/apps/image-reference.ts";

/** A reference as the parts of a request to a registry. */
export interface ImageAddress {
  /** The registry's name in references: the key of its credentials. */
  readonly registry: string;
  /** Host with optional port that requests go to. */
  readonly host: string;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

/** Names of Docker Hub in references. */
const DOCKER_HUB = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);
const DOCKER_HUB_HOST = "registry-1.docker.io";

/** Parses a reference. Expands the short names of Docker Hub's official images. Returns `undefined` if it is not valid. */
export function parseImageAddress(reference: string): ImageAddress | undefined {
  const parsed = parseImageReference(reference);
  if (!parsed) return undefined;
  const { repository, tag, digest } = parsed;
  const registry = canonicalRegistry(parsed.registry);
  const isOfficial = registry === "docker.io" && !repository.includes("/");
  return {
    registry,
    host: registryHost(registry),
    repository: isOfficial ? `library/${repository}` : repository,
    tag,
    digest,
  };
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
