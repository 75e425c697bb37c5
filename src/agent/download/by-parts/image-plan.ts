import { errorText } from "../../../lib/error-text.ts";
import { LayoutError } from "../../../lib/layer-parts/layer-layout.ts";
import { sumOfLengths } from "../../../lib/layer-parts/ranges.ts";
import type { Logger } from "../../../lib/logger.ts";
import type { DeviceContents } from "../../contents/device-contents.ts";
import type { Descriptor, RegistryAuth, RegistryClient, ResolvedImage } from "../../registry/registry.ts";
import { RegistryError } from "../../registry/registry-error.ts";
import { DownloadError, PartsUnusable } from "../download-error.ts";
import type { FetchOptions } from "../fill-part.ts";
import { fetchRanges } from "../fetch-ranges.ts";
import type { PartStore } from "../part-store.ts";
import { HeldContents } from "./held-contents.ts";
import { LayerLayouts } from "./layer-layouts.ts";
import { LayerPlan } from "./layer-plan.ts";

/** Smaller layers are fetched whole: finding out about their parts would cost as much. */
const MIN_LAYER_BYTES = 256 * 1024;

export interface ImagePlanRequest {
  readonly image: ResolvedImage;
  readonly auth: RegistryAuth | undefined;
  /** The app the image is for. */
  readonly app: string;
  /** How many layers the engine has, the lowest ones. */
  readonly layersPresent: number;
  /** Whether there is any image on the device. Absent: the engine is asked. */
  readonly hasImages?: boolean | undefined;
  /** Bytes that descriptions of layers may take; absent: no limit. */
  readonly maxTableBytes?: number | undefined;
  /** Called when a layer is fetched whole although it is described. @param reason for people */
  readonly onWhole?: (reason: string) => void;
}

export interface ImagePlanOptions extends ImagePlanRequest {
  readonly registry: Pick<RegistryClient, "findArtifact" | "openBlob">;
  readonly parts: PartStore;
  readonly contents: DeviceContents;
  readonly fetch: FetchOptions;
  /** Whether the engine can unpack layers that are compressed with zstd. */
  readonly readsZstd: () => Promise<boolean>;
  readonly logger: Logger;
}

/** Which layers of an image are put together from parts, and how. Keeps their parts open until disposed. */
export interface ImagePlan extends AsyncDisposable {
  /** By the digest of the layer in the image's manifest. */
  readonly layers: ReadonlyMap<string, LayerPlan>;
}

/**
 * Plans how the layers that the engine lacks are fetched. Reads tables of layers, or an index of the image, and asks which
 * contents the device has. A layer for which anything of that fails is fetched whole: never rejects but with the signal's
 * reason.
 */
export async function planImage(options: ImagePlanOptions): Promise<ImagePlan> {
  const { image, auth, registry, parts, fetch } = options;
  await using owned = new AsyncDisposableStack();
  let bytesLeft = options.maxTableBytes ?? Infinity;
  const layouts = owned.use(
    new LayerLayouts({
      image,
      auth,
      registry,
      parts,
      fetch: async (blob, spans) => {
        bytesLeft -= sumOfLengths(blob.part.missing(spans));
        if (bytesLeft < 0) throw new PartsUnusable("its description is larger than what may be downloaded");
        await fetchRanges(blob.part, spans, {
          ...fetch,
          open: ({ offset, length }, signal) =>
            registry.openBlob(image, blob.descriptor, { offset, length, auth, signal }),
        });
      },
      onReceived: fetch.onReceived,
      signal: fetch.signal,
    }),
  );
  const layers = await planLayers(options, layouts);
  // Until the download is over, which on a bad link is long after this.
  for (const { held } of layers.values()) owned.use(options.contents.hold(held.imageIds));
  const kept = owned.move();
  return { layers, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

async function planLayers(options: ImagePlanOptions, layouts: LayerLayouts): Promise<ReadonlyMap<string, LayerPlan>> {
  const { image, app, layersPresent, contents, fetch, onWhole, logger } = options;
  const planned = new Map<string, LayerPlan>();
  const readsZstd = once(options.readsZstd);
  const hasImages = once(async () => options.hasImages ?? (await contents.hasImages(fetch.signal)));
  const images = once(() => contents.load(`${image.registry}/${image.repository}`, app, fetch.signal));
  for (const [index, layer] of image.layers.entries()) {
    if (index < layersPresent || planned.has(layer.digest)) continue;
    try {
      const mustRebuild = isZstd(layer) && !(await readsZstd());
      if (!mustRebuild && (layer.size < MIN_LAYER_BYTES || !(await hasImages()))) continue;
      const found = await layouts.find(layer, image.diffIds[index] ?? "");
      if (!found) continue;
      const held = new HeldContents(found.layout, await images());
      planned.set(layer.digest, new LayerPlan({ ...found, layer, held, mustRebuild }));
    } catch (error) {
      fetch.signal.throwIfAborted();
      if (!isExpected(error)) throw error;
      logger.info({ layer: layer.digest, reason: errorText(error) }, "a layer is downloaded whole, not by parts");
      if (error instanceof LayoutError) onWhole?.(errorText(error));
    }
  }
  return planned;
}

function isZstd({ mediaType }: Descriptor): boolean {
  return /[+.]zstd$/.test(mediaType);
}

function once<T>(run: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => (result ??= run());
}

/** Whether an error only means that a layer is fetched whole. */
function isExpected(error: unknown): boolean {
  return [LayoutError, PartsUnusable, RegistryError, DownloadError].some((kind) => error instanceof kind);
}
