import { parseBoundedJson } from "../../../protocol/values/bounded-json.ts";
import { digestOf } from "../../../lib/registry/documents.ts";
import type { ResolvedImage } from "../../registry/registry.ts";

/** Media types of an uncompressed layer, by the kind of manifest. */
const OCI_TAR = "application/vnd.oci.image.layer.v1.tar";
const DOCKER_TAR = "application/vnd.docker.image.rootfs.diff.tar";

interface Manifest {
  layers: readonly { readonly digest: string }[];
}

/**
 * Returns the image with some layers as uncompressed tars, named by their diff ids. The configuration stays byte for byte, and
 * so do the diff ids: engines that name images after the configuration give it the id of the registry's image.
 *
 * @param tarSizes bytes of the tars, by diff id; layers without one stay as they are
 */
export function withUncompressedLayers(image: ResolvedImage, tarSizes: ReadonlyMap<string, number>): ResolvedImage {
  if (!image.diffIds.some((diffId) => tarSizes.has(diffId))) return image;
  const manifest = parseBoundedJson(image.manifest, "registry") as Manifest;
  const mediaType = image.mediaType.includes("docker") ? DOCKER_TAR : OCI_TAR;
  const uncompressed = <T>(layers: readonly T[]): T[] =>
    layers.map((layer, index) => {
      const digest = image.diffIds[index] ?? "";
      const size = tarSizes.get(digest);
      return size === undefined ? layer : ({ mediaType, digest, size } as T);
    });
  const bytes = Buffer.from(JSON.stringify({ ...manifest, layers: uncompressed(manifest.layers) }));
  return { ...image, manifest: bytes, digest: digestOf(bytes), layers: uncompressed(image.layers) };
}
