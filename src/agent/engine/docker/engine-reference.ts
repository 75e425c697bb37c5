import { parseImageReference } from "../../../protocol/apps/image-reference.ts";
import { EngineError } from "../engine-error.ts";

/** Returns a reference that all engines accept: Podman and old versions of Docker reject a tag beside a digest. */
export function localReference(reference: string): string {
  const parsed = parseImageReference(reference);
  if (parsed?.digest === undefined || parsed.tag === undefined) return reference;
  const name = reference.slice(0, reference.indexOf("@"));
  return `${name.slice(0, name.length - parsed.tag.length - 1)}@${parsed.digest}`;
}

/**
 * Returns the complete name to pull: without a tag, engines pull all tags; without a registry, Podman tries its
 * configured list of registries.
 */
export function pullTarget(reference: string): { readonly fromImage: string; readonly tag: string } {
  const parsed = parseImageReference(reference);
  if (!parsed) throw new EngineError("invalid", "not an image reference");
  return { fromImage: `${parsed.registry}/${parsed.repository}`, tag: parsed.digest ?? parsed.tag ?? "latest" };
}

const DIGEST_TAG = /:sha256-([0-9a-f]{64})$/;

/** Returns the tag that stands for a digest on the device, as in the OCI referrers tag schema. */
export function digestTag(digest: string): string {
  return digest.replace(":", "-");
}

/**
 * Returns the local name of a reference with a digest that the engine did not pull itself; `undefined` without a
 * digest.
 */
export function digestName(reference: string): string | undefined {
  const { registry, repository, digest } = parseImageReference(reference) ?? {};
  return digest === undefined ? undefined : `${registry}/${repository}:${digestTag(digest)}`;
}

/** Returns the reference of a local name: converts a tag that stands for a digest to the digest. */
export function namedReference(name: string): string {
  return name.replace(DIGEST_TAG, "@sha256:$1");
}
