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
