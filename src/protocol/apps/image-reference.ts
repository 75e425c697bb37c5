/** A parsed container image reference: `[registry/]repository[:tag][@digest]`. */
export interface ImageReference {
  /** Host with optional port; `docker.io` by default. */
  readonly registry: string;
  readonly repository: string;
  readonly tag: string | undefined;
  readonly digest: string | undefined;
}

// The grammar of github.com/distribution/reference, which Docker and Podman use.
const DOMAIN_PART = "(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])";
const DOMAIN = new RegExp(`^(?:${DOMAIN_PART}(?:\\.${DOMAIN_PART})*|\\[[0-9a-fA-F:]+\\])(?::[0-9]+)?$`);
const PATH = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^[\w][\w.-]{0,127}$/;
const DIGEST = /^sha256:[0-9a-f]{64}$/;

const DEFAULT_REGISTRY = "docker.io";
/** Maximum characters of registry and repository together. */
export const MAX_NAME_LENGTH = 255;

/** Parses a reference. Returns `undefined` when it does not follow the grammar. */
export function parseImageReference(reference: string): ImageReference | undefined {
  const [nameAndTag, digest, ...rest] = reference.split("@") as [string, ...string[]];
  if (rest.length > 0 || (digest !== undefined && !DIGEST.test(digest))) return undefined;
  const { name, tag } = splitTag(nameAndTag);
  if (tag !== undefined && !TAG.test(tag)) return undefined;
  const { registry, repository } = splitRegistry(name);
  if (!DOMAIN.test(registry) || !PATH.test(repository) || name.length > MAX_NAME_LENGTH) return undefined;
  return { registry, repository, tag, digest };
}

/** Whether the tag is expected to move: no digest, and the tag is `latest` or absent. */
export function hasFloatingTag(reference: ImageReference): boolean {
  return reference.digest === undefined && (reference.tag ?? "latest") === "latest";
}

function splitTag(nameAndTag: string): { name: string; tag: string | undefined } {
  const colon = nameAndTag.lastIndexOf(":");
  if (colon === -1 || nameAndTag.indexOf("/", colon) !== -1) return { name: nameAndTag, tag: undefined };
  return { name: nameAndTag.slice(0, colon), tag: nameAndTag.slice(colon + 1) };
}

function splitRegistry(name: string): { registry: string; repository: string } {
  const slash = name.indexOf("/");
  const first = slash === -1 ? "" : name.slice(0, slash);
  // The first component is a host only if it cannot be a user name on the default registry.
  const isHost = /[.:]/.test(first) || first === "localhost" || first !== first.toLowerCase();
  if (!isHost) {
    const repository = slash === -1 ? `library/${name}` : name;
    return { registry: DEFAULT_REGISTRY, repository };
  }
  return { registry: first, repository: name.slice(slash + 1) };
}
