import { buffer } from "node:stream/consumers";
import { Readable } from "node:stream";
import {
  INDEX_ARTIFACT_TYPE,
  LAYER_ANNOTATION,
  LAYER_INDEX_TYPE,
  LAYER_PACK_TYPE,
  referrersTag,
} from "../../../src/lib/layer-parts/index-artifact.ts";
import { writeLayerIndex } from "../../../src/lib/layer-parts/layer-index/write-index.ts";
import { type Image, sha256 } from "./image.ts";
import { pushBlob, pushManifest } from "./push-image.ts";

const MANIFEST = "application/vnd.oci.image.manifest.v1+json";
const INDEX = "application/vnd.oci.image.index.v1+json";
const EMPTY = { mediaType: "application/vnd.oci.empty.v1+json", digest: sha256("{}"), size: 2 };

export interface PushedIndex {
  /** Digest and size of each pack. */
  readonly packs: readonly { readonly digest: string; readonly size: number }[];
  readonly indexBytes: number;
}

/**
 * Pushes an index of an image's layers, as an artifact under the tag that stands in for the referrers API.
 *
 * @param of the image whose layers are described, if it is another one
 */
export async function pushIndex(
  address: string,
  repository: string,
  manifest: { readonly digest: string; readonly size: number; readonly mediaType: string },
  of: Image,
): Promise<PushedIndex> {
  const base = `${address}/v2/${repository}`;
  const layers: object[] = [];
  const packs: { digest: string; size: number }[] = [];
  let indexBytes = 0;
  for (const { tar, diffId, digest } of of.layers) {
    const written: Uint8Array[] = [];
    const { index } = await writeLayerIndex(
      Readable.from([tar]),
      diffId,
      async (bytes) => void written.push(Buffer.from(bytes)),
    );
    const pack = await buffer(Readable.from(written));
    indexBytes += index.length;
    packs.push({ digest: sha256(pack), size: pack.length });
    for (const [mediaType, bytes] of [
      [LAYER_INDEX_TYPE, Buffer.from(index)],
      [LAYER_PACK_TYPE, pack],
    ] as const) {
      await pushBlob(base, bytes, {});
      layers.push({
        mediaType,
        digest: sha256(bytes),
        size: bytes.length,
        annotations: { [LAYER_ANNOTATION]: digest },
      });
    }
  }
  await pushBlob(base, Buffer.from("{}"), {});
  const artifact = JSON.stringify({
    schemaVersion: 2,
    mediaType: MANIFEST,
    artifactType: INDEX_ARTIFACT_TYPE,
    config: EMPTY,
    layers,
    subject: manifest,
  });
  await pushManifest(`${base}/manifests/${sha256(artifact)}`, MANIFEST, artifact, {});
  const entry = {
    mediaType: MANIFEST,
    digest: sha256(artifact),
    size: Buffer.byteLength(artifact),
    artifactType: INDEX_ARTIFACT_TYPE,
  };
  const list = JSON.stringify({ schemaVersion: 2, mediaType: INDEX, manifests: [entry] });
  await pushManifest(`${base}/manifests/${referrersTag(manifest.digest)}`, INDEX, list, {});
  return { packs, indexBytes };
}
