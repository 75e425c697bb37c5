/*
 * How an index beside an ordinary image is stored in a registry: an OCI artifact whose `subject` is the image's manifest. Its
 * layers are an index and a pack for each layer of the image that is indexed.
 */

/** `artifactType` of the manifest, and what the referrers API is asked for. */
export const INDEX_ARTIFACT_TYPE = "application/vnd.edge-agent.layer-index.v1";
/** How the tar of a layer is put together. */
export const LAYER_INDEX_TYPE = "application/vnd.edge-agent.layer-index.v1+index";
/** The contents of a layer's files, packed so that each can be fetched by a range. */
export const LAYER_PACK_TYPE = "application/vnd.edge-agent.layer-index.v1+pack";
/** Annotation of index and pack: digest of the image's layer, `sha256:` and 64 hexadecimal digits. */
export const LAYER_ANNOTATION = "io.edge-agent.layer";

/** A blob of an artifact, as in its manifest. */
export interface ArtifactBlob {
  readonly mediaType: string;
  readonly digest: string;
  readonly size: number;
  readonly annotations?: Readonly<Record<string, string>> | undefined;
}

/** The two blobs that describe a layer. */
export interface IndexedLayer {
  readonly index: ArtifactBlob;
  readonly pack: ArtifactBlob;
}

/** Returns what an artifact has for each layer of the image, by the layer's digest. Incomplete pairs are left out. */
export function indexedLayers(blobs: readonly ArtifactBlob[]): ReadonlyMap<string, IndexedLayer> {
  const packs = new Map<string, ArtifactBlob>();
  for (const blob of blobs) {
    const layer = blob.annotations?.[LAYER_ANNOTATION];
    if (blob.mediaType === LAYER_PACK_TYPE && layer !== undefined && !packs.has(layer)) packs.set(layer, blob);
  }
  const found = new Map<string, IndexedLayer>();
  for (const index of blobs) {
    const layer = index.annotations?.[LAYER_ANNOTATION];
    const pack = layer === undefined ? undefined : packs.get(layer);
    if (index.mediaType === LAYER_INDEX_TYPE && layer !== undefined && pack) found.set(layer, { index, pack });
  }
  return found;
}

/** Returns the tag under which a registry without the referrers API lists what refers to a manifest. */
export function referrersTag(digest: string): string {
  return digest.replace(":", "-");
}
