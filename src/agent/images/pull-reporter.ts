import {
  progressEvent,
  pullInterruptedEvent,
  rateOf,
  resumeEvent,
  type Sample,
  withSample,
} from "../core/deployment/pull-events.ts";
import type { FetchInterruption, TransferProgress } from "../download/ports.ts";
import type { ImageRequest, ImageServices } from "./ports.ts";

const PROGRESS_INTERVAL_MS = 1_000;
/** Shortest pause that is reported, and how often, in milliseconds. */
const MIN_REPORTED_PAUSE_MS = 2_000;
const PAUSE_REPORT_INTERVAL_MS = 60_000;

/** A download that is reported. */
interface ReportedPull extends Pick<ImageRequest, "owner" | "emit"> {
  /** What is downloaded, for people; by default an image. */
  readonly what?: string;
}

/** Turns the course of a download into events, few enough for a metered link. */
export class PullReporter {
  readonly #services: Pick<ImageServices, "clock" | "logger">;
  readonly #request: ReportedPull;
  #samples: Sample[] = [];
  /** Time of the last report, or of the first bytes. */
  #reportedAt: number | undefined;
  #reportedBytes = 0;
  #percent = 0;
  #interruptionReportedAt = Number.NEGATIVE_INFINITY;

  constructor(services: Pick<ImageServices, "clock" | "logger">, request: ReportedPull) {
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
    const event = progressEvent({ done, total, rate: rateOf(this.#samples), cuts }, this.#percent, this.#request.what);
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
