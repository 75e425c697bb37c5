import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Semaphore } from "../../lib/semaphore.ts";
import type { DeployOptions } from "../../protocol/apps/deploy-request.ts";
import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import type { Refusal } from "../core/deployment/check.ts";
import type { FileFetch } from "../core/records.ts";
import type { ImageSource, PresentImage } from "../core/image/image.ts";
import type { Platform } from "../core/image/platform.ts";
import type { PullPolicy } from "../core/image/pull-decision.ts";
import type { ImageDownloader } from "../download/ports.ts";
import type { Engine, EngineInfo } from "../engine/engine.ts";
import type { Host } from "../host/host.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { PullGate } from "../ledger/pull-gate.ts";
import type { CredentialSource } from "../registry/credentials/credential-source.ts";
import type { RegistryClient } from "../registry/registry.ts";
import type { AgentStore, LearnedStore } from "../store/store.ts";

/** Gets images onto the device. Used by deployments and by the reconciler. */
export interface ImageProvider {
  /**
   * Finds out what the reference stands for and what the pull costs. Transfers no layer, so it may run any number of
   * times. Rejects with a `RegistryError`, an `EngineError`, or the signal's reason.
   */
  resolve(request: ImageRequest): Promise<ResolveResult>;
  /**
   * Pulls what `resolve` found, after waiting for the pull gate and a pull slot. Safe to repeat. Rejects with an
   * `EngineError`, a `RegistryError`, a `DownloadError`, an `EdgeError`, or the signal's reason.
   *
   * @param attempt 1 for the first
   */
  pull(request: ImageRequest, source: ImageSource, attempt: number): Promise<PullResult>;
  /** Returns the digest in the registry of an image that is on the device; `undefined` if it is not known. */
  knownDigest(reference: string, image: PresentImage): string | undefined;
}

/** An image to get, the app or deployment it is for, and the limits. */
export interface ImageRequest {
  readonly reference: string;
  /** The digest resolved before, which is pulled wherever a tag points now. */
  readonly digest?: string | undefined;
  /** What is known of the image on the device under this name, `null`: there is none. Absent: the engine is asked. */
  readonly present?: PresentImage | null | undefined;
  /** When the registry is asked about an image that is on the device. */
  readonly policy: PullPolicy;
  /** Credentials of this request; without them the device's own are used. */
  readonly auth?: DeployOptions["registry_auth"] | undefined;
  readonly maxDownloadBytes?: number | undefined;
  /** Contents of files that the same deployment downloads: they count for the limits. */
  readonly fetches?: readonly FileFetch[] | undefined;
  /** Ignores download windows and data budgets. */
  readonly isUrgent?: boolean | undefined;
  /** Only the cost is wanted: an image on the device is no substitute for it. */
  readonly isDryRun?: boolean | undefined;
  /** Whose traffic it is, in the ledger and in the log. */
  readonly owner: { readonly app: string; readonly deployment: string };
  /** Receives events while a call runs. Those in a result are not emitted. */
  readonly emit: (event: EventContent) => void;
  readonly signal: AbortSignal;
}

export type ResolveResult =
  /** The image is to be pulled. `digest` is missing where only the engine can reach the registry. */
  | {
      readonly kind: "found";
      readonly source: ImageSource;
      readonly digest?: string;
      readonly events: readonly EventContent[];
    }
  | LocalImage
  /** The image costs more than a limit allows. */
  | { readonly kind: "refused"; readonly refusal: Refusal };

export type PullResult =
  | {
      readonly kind: "pulled";
      readonly imageId: string;
      /** Its digest in the registry, if that is known. */
      readonly digest: string | undefined;
      readonly events: readonly EventContent[];
    }
  | LocalImage
  /** The attempt failed, and the pause before the next one is over. `mustResolve`: resolve the source again first. */
  | { readonly kind: "retry"; readonly mustResolve: boolean };

/** The image on the device is used. */
export interface LocalImage {
  readonly kind: "use_local";
  readonly imageId: string;
  /** Its digest in the registry, if that is known. */
  readonly digest: string | undefined;
  /** Whether the registry said that the reference means this image; otherwise it could not be asked. */
  readonly isConfirmed: boolean;
  readonly events: readonly EventContent[];
}

/** Settings of image pulls. Sizes in bytes. */
export interface ImageConfig {
  readonly pullAttempts: number;
  /** Who downloads images. */
  readonly pullBy: "agent" | "engine";
  /** Limit for one image by the device's policy; `undefined` for none. */
  readonly maxImageBytes: number | undefined;
  /** Limit for the download of one deployment; `undefined` for none. */
  readonly maxDownloadBytes: number | undefined;
  /** Free space that must remain where the engine keeps images. */
  readonly diskReserveBytes: number;
}

/** What the image provider uses. */
export interface ImageServices {
  readonly engine: Engine;
  readonly host: Pick<Host, "freeBytes">;
  readonly store: Pick<AgentStore, "apps"> & LearnedStore;
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly logger: Logger;
  readonly config: ImageConfig;
  /** The engine's properties. May be cached, since the query is slow. */
  readonly engineInfo: (signal: AbortSignal) => Promise<Pick<EngineInfo, "dataRoot" | "maxLayers">>;
  readonly registry: RegistryClient;
  /** The device's registry credentials. */
  readonly credentials: CredentialSource;
  /** The device's platform. */
  readonly platform: (signal: AbortSignal) => Promise<Platform>;
  /** Downloads images unless that is left to the engine. */
  readonly downloader: ImageDownloader;
  /** Limits how many images are pulled at once. */
  readonly pullSlots: Semaphore;
  /** Decides when images may be pulled, and how fast. Asked before a slot is taken. */
  readonly gate: PullGate;
  /** Counts the traffic. */
  readonly ledger: Ledger;
}
