import type { Failure, FileFetch } from "../records.ts";
import { formatPart, formatSize } from "../text.ts";
import type { Descriptor, PullCost, ResolvedImage } from "./image.ts";

/**
 * Estimated ratio of a layer's size on disk to its compressed size, which registries do not report. Programs compress
 * to a third to a half, so the estimate is low and refuses no image that would fit.
 */
const UNPACKED_FACTOR = 2;

/** What layers cost that are fetched by parts, by the digest of the layer. */
export type PartsCosts = ReadonlyMap<string, PartsCost>;

export interface PartsCost {
  /** Bytes that are fetched. */
  readonly downloadBytes: number;
  /** Bytes of the layer's tar, which the engine gets uncompressed. */
  readonly tarBytes: number;
}

const NO_PARTS: PartsCosts = new Map();

/**
 * Computes what an image costs, given the layers the engine has.
 *
 * @param chains the diff ids of each image on the engine, lowest layer first. A layer counts as present only above the
 *   same lower layers, as engines store them.
 * @param parts of the layers that are fetched by parts
 */
export function computePullCost(
  image: Pick<ResolvedImage, "layers" | "diffIds">,
  chains: readonly (readonly string[])[],
  parts: PartsCosts = NO_PARTS,
): PullCost {
  const present = Math.max(0, ...chains.map((chain) => commonLength(chain, image.diffIds)));
  const missing = distinct(image.layers.slice(present));
  const fetched = (layer: Descriptor): number => parts.get(layer.digest)?.downloadBytes ?? layer.size;
  const downloadBytes = sum(missing.map(fetched));
  return {
    downloadBytes,
    diskBytes: sum(
      image.layers.slice(present).map((layer) => parts.get(layer.digest)?.tarBytes ?? unpackedSize(layer)),
    ),
    imageBytes: sum(distinct(image.layers).map(({ size }) => size)),
    layers: image.layers.length,
    layersPresent: present,
    reusedBytes: sum(missing.map(({ size }) => size)) - downloadBytes,
    transferBytes: sum(missing.map((layer) => parts.get(layer.digest)?.tarBytes ?? layer.size)),
  };
}

/** Returns the cost with that of files, which are on disk as they were fetched, and unpacked where they are mounted from. */
export function withFiles(cost: PullCost, fetches: readonly FileFetch[] = []): PullCost {
  if (fetches.length === 0) return cost;
  const needed = distinctFetches(fetches);
  const fileBytes = sum(needed.map(({ upload }) => upload.bytes));
  const diskBytes = cost.diskBytes + fileBytes + sum(needed.map(({ size }) => size));
  return { ...cost, downloadBytes: cost.downloadBytes + fileBytes, diskBytes, fileBytes };
}

/** Disk space that must remain for the agent's own state. */
const MIN_FREE_BYTES = 16 * 1024 * 1024;

/** Returns why there is no room for files in the agent's state directory, or `undefined`. @param freeBytes `undefined` if unknown */
export function findFilesSpaceRefusal(
  fetches: readonly FileFetch[],
  freeBytes: number | undefined,
): PullRefusal | undefined {
  if (fetches.length === 0 || freeBytes === undefined) return undefined;
  // While one is stored, it is there twice as it was fetched.
  const bytes = sum(distinctFetches(fetches).map(({ upload, size }) => 2 * upload.bytes + size));
  const needed = bytes + MIN_FREE_BYTES;
  if (freeBytes >= needed) return undefined;
  return {
    code: "InsufficientDisk",
    message: `The files of the app need ${formatSize(needed)} of disk space in the agent's state directory, and ${formatSize(freeBytes)} are free.`,
    details: { needed_bytes: needed, free_bytes: freeBytes },
  };
}

function distinctFetches(fetches: readonly FileFetch[]): readonly FileFetch[] {
  return [...new Map(fetches.map((fetch) => [fetch.sha256, fetch])).values()];
}

function commonLength(one: readonly string[], other: readonly string[]): number {
  const differs = other.findIndex((id, index) => one[index] !== id);
  return differs === -1 ? other.length : differs;
}

/** A layer that appears twice is downloaded once. */
function distinct(layers: readonly Descriptor[]): Descriptor[] {
  return [...new Map(layers.map((layer) => [layer.digest, layer])).values()];
}

function unpackedSize({ mediaType, size }: Descriptor): number {
  return /(?:\.tar|\+tar|\.tar\.uncompressed)$/.test(mediaType) ? size : size * UNPACKED_FACTOR;
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0);
}

/** Why an image is not pulled. */
type PullRefusal = Omit<Failure, "step">;

/** Limits on the cost of an image, in bytes; `undefined` for no limit. */
export interface CostLimits {
  /** From the device's policy: size of the whole image. */
  readonly maxImageBytes: number | undefined;
  /** From the device's configuration: download of one deployment. */
  readonly deviceMaxDownloadBytes: number | undefined;
  /** From the request. */
  readonly requestMaxDownloadBytes: number | undefined;
}

export interface PullLimits extends CostLimits {
  /** Free bytes where the engine keeps images; `undefined` if unknown. */
  readonly freeBytes: number | undefined;
  readonly reserveBytes: number;
}

/** Returns why an image of this cost is not pulled, or `undefined`. */
export function findCostRefusal(cost: PullCost, limits: PullLimits): PullRefusal | undefined {
  return findSizeRefusal(cost, limits) ?? findBudgetRefusal(cost, limits) ?? findSpaceRefusal(cost, limits);
}

/** Returns why an image of so many layers is not pulled, or `undefined`. Engines find out after the download. */
export function findDepthRefusal(
  { layers, reference }: Pick<ResolvedImage, "layers" | "reference">,
  maxLayers: number | undefined,
): PullRefusal | undefined {
  if (maxLayers === undefined || layers.length <= maxLayers) return undefined;
  const reason = `has ${layers.length} layers, and the device's container engine takes ${maxLayers} at most`;
  return {
    code: "InvalidRequest",
    message: `The image ${reference} ${reason}. Build it with fewer: commands that are joined, or a last stage that copies the files.`,
    details: { layers: layers.length, max_layers: maxLayers, issues: [{ path: "image", reason }] },
  };
}

/** Whether there is a limit that can only be checked if the cost is known. */
export function requiresKnownCost(limits: CostLimits): boolean {
  return Object.values(limits).some((limit) => limit !== undefined);
}

function findSizeRefusal({ imageBytes }: PullCost, { maxImageBytes }: PullLimits): PullRefusal | undefined {
  if (maxImageBytes === undefined || imageBytes <= maxImageBytes) return undefined;
  return {
    code: "PolicyDenied",
    message: `The image is ${formatSize(imageBytes)}; this device downloads none larger than ${formatSize(maxImageBytes)}.`,
    details: { rule: "policy.max_image_bytes", image_bytes: imageBytes, max_image_bytes: maxImageBytes },
  };
}

/**
 * Returns why this much is not downloaded, or `undefined`. Must be checked again if the engine requests more layers
 * than expected.
 */
export function findBudgetRefusal(cost: PullCost, limits: CostLimits): PullRefusal | undefined {
  const { requestMaxDownloadBytes: asked = Infinity, deviceMaxDownloadBytes: own = Infinity } = limits;
  const limit = Math.min(asked, own);
  if (cost.downloadBytes <= limit) return undefined;
  const whose = asked <= own ? "the request" : "this device";
  return {
    code: "DataBudgetExceeded",
    message: `${formatSize(cost.downloadBytes)} would have to be downloaded; ${whose} allows ${formatSize(limit)}.`,
    details: {
      ...costDetails(cost),
      max_download_bytes: limit,
      limit_of: asked <= own ? "request" : "device",
    },
  };
}

/** What a connection may lose when it breaks off, and what descriptions of layers may come to beside them. */
const IN_FLIGHT_BYTES = 64 * 1024;
const DESCRIPTION_SHARE = 0.02;
const DESCRIPTION_BYTES = 192 * 1024;

/**
 * Returns what a download comes to by now: with what was received in vain, such as wrong bytes, but without what a bad link
 * loses, and what layers by parts are described with.
 */
export function projectedBytes(now: {
  readonly done: number;
  readonly total: number;
  readonly received: number;
  readonly cuts: number;
}): number {
  const { done, total, received, cuts } = now;
  const usual = (cuts + 1) * IN_FLIGHT_BYTES + Math.max(DESCRIPTION_BYTES, total * DESCRIPTION_SHARE);
  return Math.max(total, Math.ceil(received + total - done - usual));
}

/** While a layer is unpacked, both what the engine got and its unpacked form are on disk. */
function findSpaceRefusal(cost: PullCost, { freeBytes, reserveBytes }: PullLimits): PullRefusal | undefined {
  const needed = cost.transferBytes + cost.diskBytes;
  if (freeBytes === undefined || needed === 0 || freeBytes - needed >= reserveBytes) return undefined;
  return {
    code: "InsufficientDisk",
    message:
      `The image needs about ${formatSize(needed)} of disk space to be downloaded and unpacked; ` +
      `${formatSize(freeBytes)} are free where images are kept, of which ${formatSize(reserveBytes)} are held in reserve.`,
    details: { ...costDetails(cost), needed_bytes: needed, free_bytes: freeBytes, reserve_bytes: reserveBytes },
  };
}

/** Returns the cost for the details of events and errors. */
export function costDetails(cost: PullCost): Readonly<Record<string, number>> {
  return {
    download_bytes: cost.downloadBytes,
    disk_bytes: cost.diskBytes,
    image_bytes: cost.imageBytes,
    layers: cost.layers,
    layers_present: cost.layersPresent,
    reused_bytes: cost.reusedBytes,
    ...(cost.fileBytes !== undefined && { file_bytes: cost.fileBytes }),
  };
}

/** Describes the cost in a sentence. */
export function costText(cost: PullCost): string {
  if (cost.downloadBytes === 0) return "Nothing has to be downloaded.";
  const { fileBytes = 0 } = cost;
  const disk = `about ${formatSize(cost.diskBytes)} on disk`;
  if (cost.downloadBytes === fileBytes)
    return `${formatSize(fileBytes)} to download, for files that come with the app; ${disk}.`;
  const missing = cost.layers - cost.layersPresent;
  const all = cost.downloadBytes - fileBytes + cost.reusedBytes;
  const here = `${formatPart(cost.reusedBytes, all)} are already here; `;
  return (
    `${formatSize(cost.downloadBytes)} to download, in ${missing} of ${cost.layers} layers; ` +
    (cost.reusedBytes > 0 ? here : "") +
    `${disk}.` +
    (fileBytes > 0 ? ` ${formatSize(fileBytes)} of it are for files that come with the app.` : "")
  );
}
