import type { PresentImage } from "../core/image/image.ts";
import type { PartsCosts } from "../core/image/pull-cost.ts";
import type { RegistryAuth, ResolvedImage } from "../registry/registry.ts";

export interface ImageDownloadRequest {
  readonly image: ResolvedImage;
  readonly auth: RegistryAuth | undefined;
  /** Bytes to download; `undefined` when not known beforehand. */
  readonly expectedBytes?: number | undefined;
  /** Fetches layers by parts where that costs less; absent: whole. */
  readonly byParts?: ByPartsRequest | undefined;
  readonly onProgress: (progress: TransferProgress) => void;
  readonly onInterruption: (interruption: FetchInterruption) => void;
  /** Called with the number of bytes received from the network. */
  readonly onReceived: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/** What has to be known to fetch layers by parts. */
export interface ByPartsRequest {
  /** The app the image is for. */
  readonly app: string;
  /** How many layers the engine has, the lowest ones. */
  readonly layersPresent: number;
  /** Called when a layer turns out to be fetched whole after all. @param reason for people */
  readonly onWhole: (reason: string) => void;
}

/** Downloads images over unreliable links. Disposing it waits for pending cleanups. */
export interface ImageDownloader extends AsyncDisposable {
  /**
   * Downloads the layers the engine lacks, and has the engine pull the image under the requested reference. Rejects with a `DownloadError`, a `RegistryError`, an `EngineError`, or the signal's reason;
   * with `LoopbackUnreachable` when this process cannot serve the engine.
   */
  download(request: ImageDownloadRequest): Promise<DownloadedImage>;
  /**
   * Finds out which layers can be fetched by parts, and how many bytes of each that takes. Fetches descriptions of layers, which
   * stay on disk for the download. A layer that is not in the result is fetched whole. Rejects with an `EngineError` or the
   * signal's reason.
   */
  planParts(request: PlanPartsRequest): Promise<PartsCosts>;
}

export interface DownloadedImage {
  /** The image as the engine has it. */
  readonly image: PresentImage;
  readonly progress: TransferProgress;
}

export interface PlanPartsRequest extends Pick<ImageDownloadRequest, "image" | "auth" | "onReceived" | "signal"> {
  /** The app the image is for. */
  readonly app: string;
  /** How many layers the engine has, the lowest ones. */
  readonly layersPresent: number;
  /** Whether the engine has any image that contents could be taken from. Absent: it is asked. */
  readonly hasImages?: boolean;
  /** Bytes that descriptions of layers may take; absent: no limit. */
  readonly maxTableBytes?: number | undefined;
}

/** The engine cannot reach this process on loopback: it runs in another network namespace, or on another machine. */
export class LoopbackUnreachable extends Error {
  override readonly name = "LoopbackUnreachable";
}

/** An interrupted transfer that is retried. */
export interface FetchInterruption {
  /** `cut`: a transfer that had begun was broken off. */
  readonly kind: "cut" | "refused" | "wrong_content";
  /** For people. */
  readonly reason: string;
  /** Milliseconds until the next attempt. */
  readonly retryInMs: number;
}

/** Progress of a download. */
export interface TransferProgress {
  /** Bytes of the requested layers on the device, including those of earlier attempts. */
  readonly done: number;
  /** Bytes of all layers the engine has requested so far; at least the expected size. */
  readonly total: number;
  /** Bytes received from the network in this pull, including discarded ones. */
  readonly received: number;
  /** Number of transfers that were broken off. */
  readonly cuts: number;
}
