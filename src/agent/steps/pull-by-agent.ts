import type { EventContent } from "../../protocol/deployment-event.ts";
import type { PullCost, ResolvedImage } from "../core/image/image.ts";
import {
  progressEvent,
  rateOf,
  resumeEvent,
  type Sample,
  summaryEvent,
  pullInterruptedEvent,
  withSample,
} from "../core/image/pull-events.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { findBudgetRefusal } from "../core/image/pull-cost.ts";
import type { FetchInterruption } from "../download/fill-part.ts";
import type { TransferProgress } from "../download/transfer.ts";
import type { RegistryAuth } from "../core/image/registry-auth.ts";
import type { StepContext } from "./context.ts";
import { costLimitsOf } from "./cost-limits.ts";
import type { PullSlot } from "./pull-slot.ts";

const PROGRESS_INTERVAL_MS = 1_000;
/** A pause that is worth telling of, and how often that is told, in milliseconds. */
const MIN_REPORTED_PAUSE_MS = 2_000;
const PAUSE_REPORT_INTERVAL_MS = 60_000;

export interface AgentPull {
  readonly image: ResolvedImage;
  readonly price: PullCost;
  readonly auth: RegistryAuth | undefined;
}

/** Downloads the image, and has the engine take it. Answers what is told of the download. */
export async function pullByAgent(
  context: StepContext,
  { image, price, auth }: AgentPull,
  turn: PullSlot,
): Promise<readonly EventContent[]> {
  const { downloader, ledger, record, signal } = context;
  const teller = new PullReporter(context);
  const bounds = costLimitsOf(context);
  const stopped = new AbortController();
  const progress = await downloader.download({
    image,
    auth,
    expectedBytes: price.downloadBytes,
    onProgress: (now) => {
      // Such as layers of an image that was loaded by hand: the engine has them, and does not know them by these names.
      const refusal = findBudgetRefusal({ ...price, downloadBytes: now.total }, bounds);
      if (refusal) stopped.abort(new EdgeError(refusal.code, refusal.message, refusal.details));
      teller.progress(now);
    },
    onInterruption: (trouble) => teller.interrupted(trouble),
    onReceived: (bytes) => {
      turn.renew();
      ledger.count({ purpose: "pulls", direction: "received", bytes, app: record.app, deployment: record.id });
    },
    signal: AbortSignal.any([signal, stopped.signal]),
  });
  return progress.received > 0 ? [summaryEvent(progress)] : [];
}

/** Turns what happens to a download into events, few enough for a metered link. */
class PullReporter {
  readonly #context: StepContext;
  #samples: Sample[] = [];
  #reportedAt = Number.NEGATIVE_INFINITY;
  #reportedBytes = -1;
  #percent = 0;
  #interruptionReportedAt = Number.NEGATIVE_INFINITY;
  #isFirst = true;

  constructor(context: StepContext) {
    this.#context = context;
  }

  /** At most one event a second, and none where there is nothing new. */
  progress({ done, total, received, cuts }: TransferProgress): void {
    const now = this.#context.clock.monotonic();
    if (received === 0 || total === 0) return;
    if (this.#isFirst && done > received) this.#context.emit(resumeEvent(done - received, total));
    this.#isFirst = false;
    if (now - this.#reportedAt < PROGRESS_INTERVAL_MS || done === this.#reportedBytes) return;
    this.#samples = withSample(this.#samples, { at: now, bytes: done });
    const event = progressEvent({ done, total, rate: rateOf(this.#samples), cuts }, this.#percent);
    this.#reportedAt = now;
    this.#reportedBytes = done;
    this.#percent = event.progress ?? this.#percent;
    this.#context.emit(event);
  }

  interrupted({ kind, reason, retryInMs }: FetchInterruption): void {
    const { clock, logger, record, emit } = this.#context;
    logger.debug({ deployment: record.id, app: record.app, kind, reason, retry_ms: retryInMs }, "a transfer broke off");
    const now = clock.monotonic();
    if (retryInMs < MIN_REPORTED_PAUSE_MS || now - this.#interruptionReportedAt < PAUSE_REPORT_INTERVAL_MS) return;
    this.#interruptionReportedAt = now;
    emit(pullInterruptedEvent(reason, retryInMs));
  }
}
