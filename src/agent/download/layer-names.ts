import { randomBytes } from "node:crypto";
import { digestOf } from "../registry/manifest.ts";
import type { ResolvedImage } from "../registry/registry.ts";

const REF_NAME = "org.opencontainers.image.ref.name";

/*
 * containerd keeps what it has of a layer when a pull is broken off, and goes on there. Where that is wrong, as after a
 * loss of power or from a registry that erred, it finds out at the end, keeps it all the same, and fails each further
 * pull for hours. It keeps it under the layer's digest, and the name that a manifest may give it beside that.
 */

/** The same image with a manifest of its own, by which containerd fetches everything from its first byte. */
export function withOtherLayerNames(image: ResolvedImage): ResolvedImage {
  const annotations = { [REF_NAME]: randomBytes(16).toString("hex") };
  const manifest = JSON.parse(new TextDecoder().decode(image.manifest)) as Manifest;
  for (const part of [manifest.config, ...manifest.layers]) Object.assign(part, { annotations });
  const bytes = Buffer.from(JSON.stringify(manifest));
  return { ...image, manifest: bytes, digest: digestOf(bytes) };
}

interface Manifest {
  readonly config: object;
  readonly layers: readonly object[];
}
