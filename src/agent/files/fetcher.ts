import type { Clock } from "../../lib/clock.ts";
import { DirectoryArchiveError, readDirectoryArchive } from "../../lib/directory-archive.ts";
import type { Logger } from "../../lib/logger.ts";
import { Semaphore } from "../../lib/semaphore.ts";
import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { runningEvent } from "../core/deployment/step-events.ts";
import { NO_COST } from "../core/image/image.ts";
import {
  type CostLimits,
  findBudgetRefusal,
  findFilesSpaceRefusal,
  projectedBytes,
  withFiles,
} from "../core/image/pull-cost.ts";
import type { DeploymentRecord, FileFetch } from "../core/records.ts";
import { formatSize } from "../core/text.ts";
import type { BlobDownloader } from "../download/blob-download.ts";
import { DownloadError, toDiskError } from "../download/download-error.ts";
import type { TransferProgress } from "../download/ports.ts";
import { DamagedContentError } from "./content.ts";
import { addFetched, type FetchedContent, findFetched } from "./fetched-contents.ts";
import { PullReporter } from "../images/pull-reporter.ts";
import { PullSlot } from "../images/pull-slot.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { PullGate } from "../ledger/pull-gate.ts";
import { RegistryError } from "../registry/registry-error.ts";
import type { RegistryAuth } from "../registry/registry.ts";
import type { AgentStore } from "../store/store.ts";

/** Where the service has uploads. */
interface UploadLocation {
  readonly registry: string;
  readonly repository: string;
  readonly auth: RegistryAuth;
}

export interface FileFetcherOptions {
  readonly store: Pick<AgentStore, "fileContent">;
  readonly blobs: Pick<BlobDownloader, "read" | "forget">;
  readonly locate: () => UploadLocation;
  readonly gate: PullGate;
  readonly ledger: Ledger;
  readonly pullSlots: Semaphore;
  /** Limit for the download of one deployment; `undefined` for none. */
  readonly maxDownloadBytes: number | undefined;
  readonly stateDir: string;
  readonly freeBytes: (path: string) => Promise<number | undefined>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What has to be fetched for a deployment, and how it is told. */
export interface FetchRequest {
  readonly record: Pick<DeploymentRecord, "id" | "app" | "spec" | "options" | "fetches">;
  /** Stores an event and sends it. */
  readonly emit: (event: EventContent) => void;
  readonly signal: AbortSignal;
}

/** Fetches contents of files that accounts have uploaded to the service: as layers of images are, resumed, within the data budget. */
export class FileFetcher {
  readonly #options: FileFetcherOptions;
  /** One content is stored at a time. */
  readonly #storing = new Semaphore(1);

  constructor(options: FileFetcherOptions) {
    this.#options = options;
  }

  /**
   * Fetches what the device does not have of the deployment's contents, and stores each as it arrives. Safe to repeat: what is on
   * disk is not fetched again. Rejects with an `EdgeError`, a `DownloadError`, or the signal's reason.
   */
  async fetch(request: FetchRequest): Promise<readonly EventContent[]> {
    const { record, emit, signal: cancelled } = request;
    const { fetches = [] } = record;
    const missing = fetches.filter((each) => this.#isMissing(record, each));
    const present = fetches.filter((each) => !missing.includes(each));
    if (present.length > 0) await this.#options.blobs.forget(present.map(({ upload }) => `sha256:${upload.sha256}`));
    if (missing.length === 0) return [];
    await this.#requireSpace(missing);
    const { gate, pullSlots, clock, logger } = this.#options;
    const stopped = new AbortController();
    const signal = AbortSignal.any([cancelled, stopped.signal]);
    const cost = withFiles(NO_COST, missing);
    await gate.admit({ bytes: cost.downloadBytes, isUrgent: record.options.urgent ?? false, emit, signal });
    if (pullSlots.isFull) emit(runningEvent("pulling", "Waiting for another download to finish."));
    using slot = await PullSlot.acquire(pullSlots, clock, signal);
    const owner = { app: record.app, deployment: record.id };
    const reporter = new PullReporter({ clock, logger }, { what: "files", owner, emit });
    /** Bytes that are fetched here: what another deployment brings meanwhile is not counted against the limits of this one. */
    let total = cost.downloadBytes;
    /** What the contents before have come to. */
    let before: TransferProgress = { done: 0, total: 0, received: 0, cuts: 0 };
    const inAll = (now: TransferProgress): TransferProgress => ({
      done: before.done + now.done,
      total,
      received: before.received + now.received,
      cuts: before.cuts + now.cuts,
    });
    const limits = this.#limitsOf(record);
    const { registry, repository, auth } = this.#options.locate();
    for (const fetch of missing) {
      const { sha256, bytes: size } = fetch.upload;
      // The data budget and a slot may have taken days.
      if (!this.#isMissing(record, fetch)) {
        total -= size;
        continue;
      }
      const download = {
        image: { registry, repository },
        blob: { mediaType: "application/gzip", digest: `sha256:${sha256}`, size },
        auth,
        onProgress: (now: TransferProgress) => {
          const refusal = findBudgetRefusal({ ...cost, downloadBytes: projectedBytes(inAll(now)) }, limits);
          if (refusal) stopped.abort(new EdgeError(refusal.code, refusal.message, refusal.details));
          reporter.progress(inAll(now));
        },
        onInterruption: (...interruption: Parameters<PullReporter["interrupted"]>) =>
          reporter.interrupted(...interruption),
        onReceived: (bytes: number) => {
          slot.renew();
          this.#options.ledger.count({ purpose: "pulls", direction: "received", bytes, carriedAs: "pulls", ...owner });
        },
        signal,
      };
      try {
        before = inAll(
          await this.#options.blobs.read(download, (packed) => this.#store(record, fetch, packed, signal)),
        );
      } catch (error) {
        throw toFetchError(error);
      }
    }
    if (total === 0) return [];
    const { received, cuts } = before;
    return [
      {
        ...runningEvent("pulling", `The files are on the device: ${formatSize(received)} were received.`),
        details: { received_bytes: received, cuts },
      },
    ];
  }

  /**
   * Whether the device does not have a content yet: what another deployment has brought meanwhile is not fetched again. Error:
   * `FilesNotPlaced`, if that is no directory here, or has not the size by which the request was counted.
   */
  #isMissing({ spec }: FetchRequest["record"], fetch: FileFetch): boolean {
    const { store, stateDir } = this.#options;
    const stored = store.fileContent(fetch.sha256);
    const content = stored
      ? { size: stored.length, isArchive: isArchive(stored) }
      : findFetched(stateDir, fetch.sha256);
    if (content === undefined) return true;
    if (content.size !== fetch.size) throw otherContent(fetch);
    requireArchives(spec, fetch.sha256, content);
    return false;
  }

  #limitsOf({ options }: FetchRequest["record"]): CostLimits {
    return {
      maxImageBytes: undefined,
      deviceMaxDownloadBytes: this.#options.maxDownloadBytes,
      requestMaxDownloadBytes: options.max_download_bytes,
    };
  }

  async #requireSpace(missing: readonly FileFetch[]): Promise<void> {
    const { freeBytes, stateDir } = this.#options;
    const refusal = findFilesSpaceRefusal(missing, await freeBytes(stateDir));
    if (refusal) throw new EdgeError(refusal.code, refusal.message, refusal.details);
  }

  /** Stores a content that is what the request said. Error: `FilesNotPlaced` for any other. */
  async #store(
    { spec }: FetchRequest["record"],
    fetch: FileFetch,
    packed: AsyncIterable<Uint8Array>,
    signal: AbortSignal,
  ): Promise<void> {
    const { sha256 } = fetch;
    const { stateDir } = this.#options;
    // Apps that need the same content download it together.
    using _turn = await this.#storing.acquire(signal);
    requireArchives(spec, sha256, findFetched(stateDir, sha256) ?? (await this.#add(fetch, packed, signal)));
  }

  async #add(fetch: FileFetch, packed: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<FetchedContent> {
    const { stateDir } = this.#options;
    try {
      return await addFetched(stateDir, fetch, packed, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DamagedContentError) throw otherContent(fetch);
      throw error instanceof DownloadError ? error : toDiskError(error, stateDir);
    }
  }
}

function isArchive(content: Uint8Array): boolean {
  try {
    readDirectoryArchive(content);
    return true;
  } catch (error) {
    if (error instanceof DirectoryArchiveError) return false;
    throw error;
  }
}

/** Requires a content to be what each directory of the app that has it needs. */
function requireArchives(
  spec: FetchRequest["record"]["spec"],
  sha256: string,
  content: Pick<FetchedContent, "isArchive">,
): void {
  const directory = spec?.files?.find((file) => file.sha256 === sha256 && file.directory === true);
  if (directory && !content.isArchive)
    throw notFetched(`the upload of ${directory.target} is not the archive of a directory`);
}

/** The texts of registries would speak of an image. */
function toFetchError(error: unknown): unknown {
  if (error instanceof DownloadError && error.kind === "no_space") return error;
  if (error instanceof RegistryError && error.kind === "image_not_found")
    return notFetched("the service does not have them for this device any more", error);
  if (!(error instanceof RegistryError || error instanceof DownloadError)) return error;
  return notFetched(`they cannot be fetched from the service (${error.message})`, error);
}

function otherContent({ sha256, size }: FileFetch): EdgeError {
  return notFetched(`an upload does not unpack to the ${size} bytes with the SHA-256 ${sha256}`);
}

function notFetched(reason: string, cause?: RegistryError | DownloadError): EdgeError {
  const details = cause && { reason: cause.kind };
  return new EdgeError("FilesNotPlaced", `The files of the app cannot be placed: ${reason}.`, details, { cause });
}
