import type { EventContent } from "../../protocol/deployments/deployment-event.ts";
import type { PresentImage, PullCost, ResolvedImage } from "../core/image/image.ts";
import {
  costGrewEvent,
  progressEvent,
  rateOf,
  resumeEvent,
  type Sample,
  summaryEvent,
  wholeLayerEvent,
  pullInterruptedEvent,
  withSample,
} from "../core/image/pull-events.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { findBudgetRefusal, projectedBytes } from "../core/image/pull-cost.ts";
import type { FetchInterruption, TransferProgress } from "../download/ports.ts";
import type { RegistryAuth } from "../registry/registry.ts";
import type { ImageRequest, ImageServices } from "./ports.ts";
import type { PullSlot } from "./pull-slot.ts";
import { costLimitsOf, countReceived } from "./request.ts";

const PROGRESS_INTERVAL_MS = 1_000;
/** Shortest pause that is reported, and how often, in milliseconds. */
const MIN_REPORTED_PAUSE_MS = 2_000;
const PAUSE_REPORT_INTERVAL_MS = 60_000;

export interface AgentPull {
  readonly image: ResolvedImage;
  readonly cost: PullCost;
  readonly auth: RegistryAuth | undefined;
}

export interface PulledImage {
  readonly image: PresentImage;
  /** They summarize the download. */
  readonly events: readonly EventContent[];
}

/** Downloads the image and has the engine load it. */
export async function pullByAgent(
  services: ImageServices,
  request: ImageRequest,
  { image, cost, auth }: AgentPull,
  slot: PullSlot,
): Promise<PulledImage> {
  const reporter = new PullReporter(services, request);
  const limits = costLimitsOf(services, request);
  const stopped = new AbortController();
  let announcedBytes = cost.downloadBytes;
  const { image: pulled, progress } = await services.downloader.download({
    image,
    auth,
    expectedBytes: cost.downloadBytes,
    byParts: {
      app: request.owner.app,
      layersPresent: cost.layersPresent,
      onWhole: (reason) => request.emit(wholeLayerEvent(reason)),
    },
    onProgress: (now) => {
      // May be more than computed: the engine does not know layers of an image loaded by hand by these digests.
      const refusal = findBudgetRefusal({ ...cost, downloadBytes: projectedBytes(now) }, limits);
      if (refusal) stopped.abort(new EdgeError(refusal.code, refusal.message, refusal.details));
      else if (now.total > announcedBytes) {
        request.emit(costGrewEvent(now.total, announcedBytes));
        announcedBytes = now.total;
      }
      reporter.progress(now);
    },
    onInterruption: (interruption) => reporter.interrupted(interruption),
    onReceived: (bytes) => {
      slot.renew();
      countReceived(services, request, bytes);
    },
    signal: AbortSignal.any([request.signal, stopped.signal]),
  });
  return { image: pulled, events: progress.received > 0 ? [summaryEvent(progress)] : [] };
}

/** Turns the course of a download into events, few enough for a metered link. */
class PullReporter {
  readonly #services: ImageServices;
  readonly #request: ImageRequest;
  #samples: Sample[] = [];
  /** Time of the last report, or of the first bytes. */
  #reportedAt: number | undefined;
  #reportedBytes = 0;
  #percent = 0;
  #interruptionReportedAt = Number.NEGATIVE_INFINITY;

  constructor(services: ImageServices, request: ImageRequest) {
    this.#services = services;
    this.#request = request;
  }

  /**
   * At most one event a second, the first one a second after the first bytes, and none where there is nothing new: each is a
   * write to the flash and a message, which would hold up a short download.
   */
  progress({ done, total, received, cuts }: TransferProgress): void {
    const now = this.#services.clock.monotonic();
    if (received === 0 || total === 0) return;
    if (this.#reportedAt === undefined) {
      if (done > received) this.#request.emit(resumeEvent(done - received, total));
      this.#reportedAt = now;
      this.#reportedBytes = done;
      this.#samples = withSample([], { at: now, bytes: done });
      return;
    }
    if (now - this.#reportedAt < PROGRESS_INTERVAL_MS || done === this.#reportedBytes) return;
    this.#samples = withSample(this.#samples, { at: now, bytes: done });
    const event = progressEvent({ done, total, rate: rateOf(this.#samples), cuts }, this.#percent);
    this.#reportedAt = now;
    this.#reportedBytes = done;
    this.#percent = event.progress ?? this.#percent;
    this.#request.emit(event);
  }

  interrupted({ kind, reason, retryInMs }: FetchInterruption): void {
    const { clock, logger } = this.#services;
    const { owner, emit } = this.#request;
    logger.debug({ ...owner, kind, reason, retry_ms: retryInMs }, "a transfer broke off");
    const now = clock.monotonic();
    if (retryInMs < MIN_REPORTED_PAUSE_MS || now - this.#interruptionReportedAt < PAUSE_REPORT_INTERVAL_MS) return;
    this.#interruptionReportedAt = now;
    emit(pullInterruptedEvent(reason, retryInMs));
  }
}
