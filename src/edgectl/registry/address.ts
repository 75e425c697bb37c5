import { parseImageReference } from "../../protocol/image-reference.ts";
import { usageFailure } from "../failure.ts";

/** Where an image is, as the parts of a request to its registry. */
export interface ImageAddress {
  /** As the user wrote it. */
  readonly reference: string;
  /** The registry's name in references: the key of its credentials. */
  readonly registry: string;
  /** Host with optional port that requests go to. */
  readonly host: string;
  readonly repository: string;
  /** A digest, or a tag. */
  readonly name: string;
}

const DOCKER_HUB = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);
const DOCKER_HUB_HOST = "registry-1.docker.io";

/** Parses an image reference. Errors: exit code 2. */
export function parseAddress(reference: string): ImageAddress {
  const parsed = parseImageReference(reference);
  if (!parsed) {
    throw usageFailure(
      `Not an image reference: ${reference}`,
      "Write it as for docker pull: registry.example.com/team/app:1.2",
    );
  }
  const registry = canonicalRegistry(parsed.registry);
  const isHub = registry === "docker.io";
  return {
    reference,
    registry,
    host: isHub ? DOCKER_HUB_HOST : registry,
    repository: isHub && !parsed.repository.includes("/") ? `library/${parsed.repository}` : parsed.repository,
    name: parsed.digest ?? parsed.tag ?? "latest",
  };
}

/** Returns one name for each registry: Docker Hub has several. */
export function canonicalRegistry(registry: string): string {
  const host = registry.toLowerCase();
  return DOCKER_HUB.has(host) ? "docker.io" : host;
}

/** Whether a host is this machine, where engines need no TLS. */
export function isLoopback(host: string): boolean {
  const { hostname } = new URL(`http://${host}`);
  return hostname === "localhost" || hostname === "[::1]" || /^127(?:\.\d+){3}$/.test(hostname);
}
