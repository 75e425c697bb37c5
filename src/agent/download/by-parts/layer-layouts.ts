import { buffer } from "node:stream/consumers";
import { mayReadIndex } from "../../../lib/layer-parts/decide.ts";
import { INDEX_ARTIFACT_TYPE, type IndexedLayer, indexedLayers } from "../../../lib/layer-parts/index-artifact.ts";
import { readLayerIndex } from "../../../lib/layer-parts/layer-index/read-index.ts";
import { type BlobName, type LayerLayout, LayoutError } from "../../../lib/layer-parts/layer-layout.ts";
import { IMAGE_LAYOUT_LIMITS, LAYOUT_LIMITS, type LayoutLimits } from "../../../lib/layer-parts/limits.ts";
import { REQUEST_COST, type Span } from "../../../lib/layer-parts/ranges.ts";
import { readZstdChunked } from "../../../lib/layer-parts/zstd-chunked/layout.ts";
import { findZstdChunked } from "../../../lib/layer-parts/zstd-chunked/place.ts";
import { digestOf } from "../../../lib/registry/documents.ts";
import type { Descriptor, RegistryAuth, RegistryClient, ResolvedImage } from "../../registry/registry.ts";
import type { PartLease, PartStore } from "../part-store.ts";
import { PartsUnusable } from "../download-error.ts";
import type { RangePart } from "../range-part.ts";
import type { PlannedBlob } from "./layer-plan.ts";

/** How a layer is put together, and from which blobs. */
export interface FoundLayout {
  readonly layout: LayerLayout;
  readonly blobs: readonly PlannedBlob[];
  /** Bytes that finding it took and that are not of the layer's blob. */
  readonly descriptionBytes: number;
}

export interface LayerLayoutsOptions {
  readonly image: ResolvedImage;
  readonly auth: RegistryAuth | undefined;
  readonly registry: Pick<RegistryClient, "findArtifact">;
  readonly parts: PartStore;
  /** Fetches what is missing of the spans. */
  readonly fetch: (blob: PlannedBlob, spans: readonly Span[]) => Promise<void>;
  /** Called with the number of bytes received beside those of `fetch`. */
  readonly onReceived: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Finds out how the layers of an image are put together: from tables in a layer's own blob, or from an index beside the image.
 * What is read stays on disk, so that it is not fetched twice. Keeps the blobs' parts open until disposed.
 */
export class LayerLayouts implements AsyncDisposable {
  readonly #options: LayerLayoutsOptions;
  readonly #leases = new AsyncDisposableStack();
  #entriesLeft: number = IMAGE_LAYOUT_LIMITS.maxEntries;
  #bytesLeft: number = IMAGE_LAYOUT_LIMITS.maxUnpackedBytes;
  #indexed: Promise<ReadonlyMap<string, IndexedLayer>> | undefined;

  constructor(options: LayerLayoutsOptions) {
    this.#options = options;
  }

  /**
   * Resolves to `undefined` if nothing describes the layer. Rejects with a `LayoutError`, `PartsUnusable`, a `RegistryError`, a
   * `DownloadError`, or the signal's reason.
   */
  async find(layer: Descriptor, diffId: string): Promise<FoundLayout | undefined> {
    try {
      const found = await this.#findZstdChunked(layer, diffId);
      if (found) return found;
    } catch (error) {
      if (!(error instanceof LayoutError)) throw error;
      const found = await this.#findIndexed(layer, diffId);
      // Why the layer's own tables cannot be used is the reason that helps: its writer can be replaced.
      if (!found) throw error;
      return found;
    }
    return await this.#findIndexed(layer, diffId);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#leases.disposeAsync();
  }

  async #findZstdChunked(layer: Descriptor, diffId: string): Promise<FoundLayout | undefined> {
    const limits = this.#limits();
    const place = findZstdChunked(layer.annotations ?? {}, layer.size, limits);
    if (!place) return undefined;
    // Charged before they are read: reading them costs the same where they turn out to be of no use.
    this.#bytesLeft -= place.toc.size + place.tarSplit.size;
    const blob = await this.#open("layer", layer);
    await this.#options.fetch(blob, [place.tail]);
    try {
      const layout = await readZstdChunked(place, await buffer(blob.part.read(place.tail)), diffId, limits);
      this.#entriesLeft -= layout.described.entries;
      return { layout, blobs: [blob], descriptionBytes: 0 };
    } catch (error) {
      // It stays: the whole layer has it too, and is checked against its digest.
      if (error instanceof LayoutError) blob.part.suspect(place.tail);
      throw error;
    }
  }

  /** What is left to the image. A layer above it is fetched whole. */
  #limits(): LayoutLimits {
    const bytesLeft = Math.max(0, this.#bytesLeft);
    return {
      ...LAYOUT_LIMITS,
      maxEntries: Math.min(LAYOUT_LIMITS.maxEntries, Math.max(0, this.#entriesLeft)),
      maxUnpackedBytes: Math.min(LAYOUT_LIMITS.maxUnpackedBytes, bytesLeft),
      maxTableBytes: Math.min(LAYOUT_LIMITS.maxTableBytes, bytesLeft),
    };
  }

  async #findIndexed(layer: Descriptor, diffId: string): Promise<FoundLayout | undefined> {
    this.#indexed ??= this.#findIndex();
    const found = (await this.#indexed).get(layer.digest);
    if (!found || !mayReadIndex(found.index.size, layer.size, REQUEST_COST)) return undefined;
    const index = await this.#readIndex(found.index, layer);
    const layout = readLayerIndex(index, { diffId, packSize: found.pack.size }, this.#limits());
    this.#entriesLeft -= layout.described.entries;
    this.#bytesLeft -= layout.described.unpackedBytes;
    const pack = await this.#open("pack", found.pack, layer);
    return { layout, blobs: [pack], descriptionBytes: found.index.size };
  }

  async #findIndex(): Promise<ReadonlyMap<string, IndexedLayer>> {
    const { registry, image, auth, signal, onReceived } = this.#options;
    const found = await registry.findArtifact(image, INDEX_ARTIFACT_TYPE, auth, signal);
    onReceived(found?.receivedBytes ?? 0);
    return indexedLayers(found?.blobs ?? []);
  }

  async #readIndex(descriptor: Descriptor, layer: Descriptor): Promise<Buffer> {
    const blob = await this.#open("pack", descriptor, layer);
    const all = { offset: 0, length: descriptor.size };
    const isFresh = !blob.part.has(all);
    const read = async (): Promise<Buffer | undefined> => {
      await this.#options.fetch(blob, [all]);
      const bytes = await buffer(blob.part.read(all));
      return digestOf(bytes) === descriptor.digest ? bytes : undefined;
    };
    let bytes = await read();
    if (bytes === undefined && isFresh && mayReadIndex(descriptor.size * 2, layer.size, REQUEST_COST)) {
      await blob.part.drop(all);
      bytes = await read();
    }
    // A wrong one stays: to fetch it with each attempt would cost more than may be lost.
    if (bytes === undefined) throw new PartsUnusable("the registry sent an index that does not match its digest");
    return bytes;
  }

  /** @param layer that the blob describes, if it is not the layer itself */
  async #open(name: BlobName, descriptor: Descriptor, layer?: Descriptor): Promise<PlannedBlob> {
    const lease: PartLease<RangePart> = await this.#options.parts.leaseRanges(descriptor, layer?.digest);
    this.#leases.use(lease);
    return { name, descriptor, part: lease.part };
  }
}
