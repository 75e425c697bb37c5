import { type ImageReference, parseImageReference } from "../../../protocol/image-reference.ts";

/** Names of Docker Hub in references. */
const DOCKER_HUB = new Set(["docker.io", "index.docker.io", "registry-1.docker.io"]);
const DOCKER_HUB_HOST = "registry-1.docker.io";

/** Where to ask for a manifest. */
export interface ManifestAddress {
  /** The registry's host, with a port unless it is the default one. */
  readonly host: string;
  readonly repository: string;
  readonly tag: string;
}

/** Returns where to ask for the digest of a reference; `undefined` if it has one, or follows no grammar. */
export function manifestAddress(reference: string): ManifestAddress | undefined {
  const parsed = parseImageReference(reference);
  if (!parsed || parsed.digest !== undefined) return undefined;
  const { repository, tag = "latest" } = parsed;
  const host = hostOf(parsed);
  const isOfficial = host === DOCKER_HUB_HOST && !repository.includes("/");
  return { host, repository: isOfficial ? `library/${repository}` : repository, tag };
}

function hostOf({ registry }: ImageReference): string {
  const host = registry.toLowerCase();
  return DOCKER_HUB.has(host) ? DOCKER_HUB_HOST : host;
}
