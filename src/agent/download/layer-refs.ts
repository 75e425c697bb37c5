import { randomBytes } from "node:crypto";
import { parseBoundedJson } from "../../protocol/values/bounded-json.ts";
import { digestOf } from "../../lib/registry/documents.ts";
import type { ResolvedImage } from "../registry/registry.ts";

const REF_NAME = "org.opencontainers.image.ref.name";

/*
 * containerd keeps the received part of a layer when a pull breaks off, and resumes there. When that part is wrong, for
 * example after a power cut, it notices only at the end, keeps the part anyway, and fails every further pull for
 * hours. It stores the part under the layer's digest and the ref name that the manifest may set.
 */

/** Returns the same image with other ref names, so that containerd fetches every layer from its first byte. */
export function withFreshLayerRefs(image: ResolvedImage): ResolvedImage {
  const annotations = { [REF_NAME]: randomBytes(16).toString("hex") };
  const manifest = parseBoundedJson(image.manifest, "registry") as Manifest;
  for (const descriptor of [manifest.config, ...manifest.layers]) Object.assign(descriptor, { annotations });
  const bytes = Buffer.from(JSON.stringify(manifest));
  return { ...image, manifest: bytes, digest: digestOf(bytes) };
}

interface Manifest {
  readonly config: object;
  readonly layers: readonly object[];
}
