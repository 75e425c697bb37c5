import { parseImageReference } from "../../../protocol/image-reference.ts";
import { EngineError } from "../engine-error.ts";

/** The reference as every engine understands it: where there is a digest, Podman and old Dockers want no tag beside it. */
export function localReference(reference: string): string {
  const parsed = parseImageReference(reference);
  if (parsed?.digest === undefined || parsed.tag === undefined) return reference;
  const name = reference.slice(0, reference.indexOf("@"));
  return `${name.slice(0, name.length - parsed.tag.length - 1)}@${parsed.digest}`;
}

/**
 * What to pull, in full: without a tag an engine would pull every tag there is, and without a registry Podman would ask
 * its own list of registries.
 */
export function pullTarget(reference: string): { readonly fromImage: string; readonly tag: string } {
  const parsed = parseImageReference(reference);
  if (!parsed) throw new EngineError("invalid", "not an image reference");
  return { fromImage: `${parsed.registry}/${parsed.repository}`, tag: parsed.digest ?? parsed.tag ?? "latest" };
}

const DIGEST_TAG = /:sha256-([0-9a-f]{64})$/;

/** The tag an image has on the machine in the place of a digest, as registries without referrers do it. */
export function digestTag(digest: string): string {
  return digest.replace(":", "-");
}

/** The name a reference with a digest has on the machine where the engine did not pull it itself; none for others. */
export function digestName(reference: string): string | undefined {
  const { registry, repository, digest } = parseImageReference(reference) ?? {};
  return digest === undefined ? undefined : `${registry}/${repository}:${digestTag(digest)}`;
}

/** The reference a name on the machine stands for: a tag in the place of a digest is read back. */
export function namedReference(name: string): string {
  return name.replace(DIGEST_TAG, "@sha256:$1");
}
