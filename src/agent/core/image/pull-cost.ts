import type { Refusal } from "../deployment/check.ts";
import { formatSize } from "../text.ts";
import type { Descriptor, PullCost, ResolvedImage } from "./image.ts";

/**
 * How much larger a compressed layer is on disk, for want of better knowledge: no registry says. Programs and libraries
 * shrink to a third to a half, so this errs on the low side, and refuses nothing that would have fitted.
 */
const UNPACKED_FACTOR = 2;

/**
 * What is to be fetched of an image, given what the engine has.
 *
 * @param chains the layers of each image on the engine, by the hash of their tars, lowest first. A layer is there only
 *   upon the same layers below it, since that is how engines keep them.
 */
export function computePullCost(
  image: Pick<ResolvedImage, "layers" | "diffIds">,
  chains: readonly (readonly string[])[],
): PullCost {
  const present = Math.max(0, ...chains.map((chain) => commonLength(chain, image.diffIds)));
  const missing = distinct(image.layers.slice(present));
  return {
    downloadBytes: sum(missing.map(({ size }) => size)),
    diskBytes: sum(image.layers.slice(present).map(unpackedSize)),
    imageBytes: sum(distinct(image.layers).map(({ size }) => size)),
    layers: image.layers.length,
    layersPresent: present,
  };
}

function commonLength(one: readonly string[], other: readonly string[]): number {
  const differs = other.findIndex((id, index) => one[index] !== id);
  return differs === -1 ? other.length : differs;
}

/** A layer that appears twice is fetched once. */
function distinct(layers: readonly Descriptor[]): Descriptor[] {
  return [...new Map(layers.map((layer) => [layer.digest, layer])).values()];
}

function unpackedSize({ mediaType, size }: Descriptor): number {
  return /(?:\.tar|\+tar|\.tar\.uncompressed)$/.test(mediaType) ? size : size * UNPACKED_FACTOR;
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0);
}

/** What a price is held against. Bytes; `undefined` where there is no bound. */
export interface CostLimits {
  /** Of the device's policy, on whole images. */
  readonly maxImageBytes: number | undefined;
  /** Of the device's configuration, on one deployment. */
  readonly deviceMaxDownloadBytes: number | undefined;
  /** Of the request. */
  readonly requestMaxDownloadBytes: number | undefined;
}

export interface Bounds extends CostLimits {
  /** Free where the engine keeps images; `undefined` where that cannot be seen. */
  readonly freeBytes: number | undefined;
  readonly reserveBytes: number;
}

/** Why an image of this price is not fetched, or `undefined`. */
export function findCostRefusal(price: PullCost, bounds: Bounds): Refusal | undefined {
  return findSizeRefusal(price, bounds) ?? findBudgetRefusal(price, bounds) ?? findSpaceRefusal(price, bounds);
}

/** Whether there is a bound that only a known price can be held against. */
export function requiresKnownCost(bounds: CostLimits): boolean {
  return Object.values(bounds).some((bound) => bound !== undefined);
}

function findSizeRefusal({ imageBytes }: PullCost, { maxImageBytes }: Bounds): Refusal | undefined {
  if (maxImageBytes === undefined || imageBytes <= maxImageBytes) return undefined;
  return {
    code: "PolicyDenied",
    message: `The image is ${formatSize(imageBytes)}; this device downloads none larger than ${formatSize(maxImageBytes)}.`,
    details: { rule: "policy.max_image_bytes", image_bytes: imageBytes, max_image_bytes: maxImageBytes },
  };
}

/**
 * Why so much is not downloaded, or `undefined`. To be asked again when the engine turns out to want more than it was
 * thought to lack.
 */
export function findBudgetRefusal(price: PullCost, bounds: CostLimits): Refusal | undefined {
  const { requestMaxDownloadBytes: asked = Infinity, deviceMaxDownloadBytes: own = Infinity } = bounds;
  const limit = Math.min(asked, own);
  if (price.downloadBytes <= limit) return undefined;
  const whose = asked <= own ? "the request" : "this device";
  return {
    code: "DataBudgetExceeded",
    message: `${formatSize(price.downloadBytes)} would have to be downloaded; ${whose} allows ${formatSize(limit)}.`,
    details: {
      ...costDetails(price),
      max_download_bytes: limit,
      limit_of: asked <= own ? "request" : "device",
    },
  };
}

/** While a layer is unpacked it is there twice: as it came, and as it will stay. */
function findSpaceRefusal(price: PullCost, { freeBytes, reserveBytes }: Bounds): Refusal | undefined {
  const needed = price.downloadBytes + price.diskBytes;
  if (freeBytes === undefined || needed === 0 || freeBytes - needed >= reserveBytes) return undefined;
  return {
    code: "InsufficientDisk",
    message:
      `The image needs about ${formatSize(needed)} of disk space to be downloaded and unpacked; ` +
      `${formatSize(freeBytes)} are free where images are kept, of which ${formatSize(reserveBytes)} are held in reserve.`,
    details: { ...costDetails(price), needed_bytes: needed, free_bytes: freeBytes, reserve_bytes: reserveBytes },
  };
}

/** The price as clients are told it. */
export function costDetails(price: PullCost): Readonly<Record<string, number>> {
  return {
    download_bytes: price.downloadBytes,
    disk_bytes: price.diskBytes,
    image_bytes: price.imageBytes,
    layers: price.layers,
    layers_present: price.layersPresent,
  };
}

/** The price in a sentence. */
export function costText(price: PullCost): string {
  if (price.downloadBytes === 0) return "Nothing has to be downloaded.";
  const missing = price.layers - price.layersPresent;
  return (
    `${formatSize(price.downloadBytes)} to download, in ${missing} of ${price.layers} layers; ` +
    `about ${formatSize(price.diskBytes)} on disk.`
  );
}
