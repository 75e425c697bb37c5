import { createHash } from "node:crypto";
import { openAsBlob } from "node:fs";
import { open } from "node:fs/promises";
import { mayReadIndex } from "../../lib/layer-parts/decide.ts";
import {
  type ArtifactBlob,
  LAYER_ANNOTATION,
  LAYER_INDEX_TYPE,
  LAYER_PACK_TYPE,
} from "../../lib/layer-parts/index-artifact.ts";
import { readLayerIndex } from "../../lib/layer-parts/layer-index/read-index.ts";
import { writeLayerIndex } from "../../lib/layer-parts/layer-index/write-index.ts";
import { LayoutError } from "../../lib/layer-parts/layer-layout.ts";
import { REQUEST_COST } from "../../lib/layer-parts/ranges.ts";
import { findZstdChunked } from "../../lib/layer-parts/zstd-chunked/place.ts";
import { readBlob } from "../registry/blobs.ts";
import { type Descriptor, digestOf } from "../../lib/registry/documents.ts";
import type { RegistrySession } from "../registry/session.ts";
import { layerTar } from "./tar-files.ts";

/** Why a layer has no index. */
export type LeftOut = "small" | "chunked" | "foreign" | "index_too_large" | "unusable";

export type LayerOutcome =
  | {
      readonly kind: "indexed";
      readonly index: ArtifactBlob;
      readonly pack: ArtifactBlob;
      /** Bytes that any update of the layer fetches: index and headers. */
      readonly leastBytes: number;
      readonly indexBody: Blob;
      readonly packBody: Blob;
    }
  | { readonly kind: "left_out"; readonly why: LeftOut; readonly reason?: string };

/** An index of any layer has at least about so many bytes. */
const MIN_INDEX_BYTES = 100;

/** Why a layer needs no download to know that it gets no index; `undefined` for others. */
function obstacleOf(layer: Descriptor): LeftOut | undefined {
  if (layer.mediaType.includes("foreign") || layer.mediaType.includes("nondistributable")) return "foreign";
  try {
    if (findZstdChunked(layer.annotations ?? {}, layer.size)) return "chunked";
  } catch (error) {
    // Its tables cannot be used, so it is a layer like others.
    if (!(error instanceof LayoutError)) throw error;
  }
  return mayReadIndex(MIN_INDEX_BYTES, layer.size, REQUEST_COST) ? undefined : "small";
}

/**
 * Downloads a layer and makes its index, as devices would read it. Errors: exit code 1 if the registry sent another layer.
 *
 * @param packPath a file for the pack
 */
export async function indexLayer(
  session: RegistrySession,
  layer: Descriptor,
  diffId: string,
  packPath: string,
): Promise<LayerOutcome> {
  const obstacle = obstacleOf(layer);
  if (obstacle) return { kind: "left_out", why: obstacle };
  const hash = createHash("sha256");
  try {
    await using file = await open(packPath, "w");
    const { index, packSize } = await writeLayerIndex(layerTar(readBlob(session, layer)), diffId, async (bytes) => {
      hash.update(bytes);
      await file.writeFile(bytes);
    });
    // What devices would not read is not worth its place in the registry.
    if (!mayReadIndex(index.length, layer.size, REQUEST_COST)) return { kind: "left_out", why: "index_too_large" };
    const { headers } = readLayerIndex(index, { diffId, packSize });
    const annotations = { [LAYER_ANNOTATION]: layer.digest };
    const packDigest = `sha256:${hash.digest("hex")}`;
    return {
      kind: "indexed",
      index: { mediaType: LAYER_INDEX_TYPE, digest: digestOf(index), size: index.length, annotations },
      pack: { mediaType: LAYER_PACK_TYPE, digest: packDigest, size: packSize, annotations },
      leastBytes: index.length + headers.length,
      indexBody: new Blob([new Uint8Array(index)]),
      packBody: await openAsBlob(packPath),
    };
  } catch (error) {
    if (error instanceof LayoutError) return { kind: "left_out", why: "unusable", reason: error.message };
    throw error;
  }
}
