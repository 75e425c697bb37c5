import { type BlobRange, type LayerLayout, LayoutError } from "../../lib/layer-parts/layer-layout.ts";
import { readLayerIndex } from "../../lib/layer-parts/layer-index/read-index.ts";
import { writeLayerIndex } from "../../lib/layer-parts/layer-index/write-index.ts";
import { readZstdChunked } from "../../lib/layer-parts/zstd-chunked/layout.ts";
import { findZstdChunked } from "../../lib/layer-parts/zstd-chunked/place.ts";
import type { FoundIndex } from "../registry/artifacts.ts";
import { readBlob, readBlobRange, readDocumentBlob } from "../registry/blobs.ts";
import type { Descriptor } from "../../lib/registry/documents.ts";
import type { RegistrySession } from "../registry/session.ts";
import { layerTar } from "./tar-files.ts";

/** What describes a layer: its own tables, the index in the registry, or one that could be written. */
export type LayoutSource = "zstd:chunked" | "index" | "computed";

export interface FoundLayout {
  readonly source: LayoutSource;
  readonly layout: LayerLayout;
  /** Bytes that are read to know the layout. */
  readonly indexSize: number;
  readonly packSize: number;
  /** Ranges of the layer that have been read for it, and need not be fetched again. */
  readonly readRanges: readonly BlobRange[];
}

/** Finds out how a layer is put together from parts, as devices do; without an index, makes one in memory. */
export async function findLayout(
  session: RegistrySession,
  layer: Descriptor,
  diffId: string,
  index: FoundIndex | undefined,
): Promise<FoundLayout | undefined> {
  return (
    (await usable(() => chunkedLayout(session, layer, diffId))) ??
    (await usable(() => indexedLayout(session, layer, diffId, index))) ??
    (await usable(() => computedLayout(session, layer, diffId)))
  );
}

async function usable(find: () => Promise<FoundLayout | undefined>): Promise<FoundLayout | undefined> {
  try {
    return await find();
  } catch (error) {
    if (error instanceof LayoutError) return undefined;
    throw error;
  }
}

async function chunkedLayout(
  session: RegistrySession,
  layer: Descriptor,
  diffId: string,
): Promise<FoundLayout | undefined> {
  const place = findZstdChunked(layer.annotations ?? {}, layer.size);
  if (!place) return undefined;
  const layout = await readZstdChunked(place, await readBlobRange(session, layer, place.tail), diffId);
  const readRanges = [{ blob: "layer" as const, ...place.tail }];
  return { source: "zstd:chunked", layout, indexSize: place.tail.length, packSize: 0, readRanges };
}

async function indexedLayout(
  session: RegistrySession,
  layer: Descriptor,
  diffId: string,
  found: FoundIndex | undefined,
): Promise<FoundLayout | undefined> {
  const { index, pack } = found?.layers.get(layer.digest) ?? {};
  if (!index || !pack) return undefined;
  const layout = readLayerIndex(await readDocumentBlob(session, index), { diffId, packSize: pack.size });
  return { source: "index", layout, indexSize: index.size, packSize: pack.size, readRanges: [] };
}

async function computedLayout(session: RegistrySession, layer: Descriptor, diffId: string): Promise<FoundLayout> {
  const tar = layerTar(readBlob(session, layer));
  const { index, packSize } = await writeLayerIndex(tar, diffId, () => undefined);
  const layout = readLayerIndex(index, { diffId, packSize });
  return { source: "computed", layout, indexSize: index.length, packSize, readRanges: [] };
}
