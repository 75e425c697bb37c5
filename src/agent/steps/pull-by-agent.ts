import type { EventContent } from "../../protocol/deployment-event.ts";
import type { Price, ResolvedImage } from "../core/image.ts";
import {
  progressEvent,
  rateOf,
  resumeEvent,
  type Sample,
  summaryEvent,
  waitEvent,
  withSample,
} from "../core/transfer-text.ts";
import { EdgeError } from "../../protocol/errors.ts";
import { tooExpensive } from "../core/price.ts";
import type { FetchTrouble } from "../download/fill-part.ts";
import type { TransferProgress } from "../download/transfer.ts";
import type { RegistryAuth } from "../registry/registry.ts";
import type { StepContext } from "./context.ts";
import { boundsOf } from "./price-bounds.ts";
import type { PullTurn } from "./pull-turn.ts";

const PROGRESS_INTERVAL_MS = 1_000;
/** A pause that is worth telling of, and how often that is told, in milliseconds. */
const LONG_PAUSE_MS = 2_000;
const PAUSE_TOLD_EVERY_MS = 60_000;

export interface AgentPull {
  readonly image: ResolvedImage;
  readonly price: Price;
  readonly auth: RegistryAuth | undefined;
}

/** Downloads the image, and has the engine take it. Answers what is told of the download. */
export async function pullByAgent(
  context: StepContext,
  { image, price, auth }: AgentPull,
  turn: PullTurn,
): Promise<readonly EventContent[]> {
  const { downloader, ledger, record, signal } = context;
  const teller = new Teller(context);
  const bounds = boundsOf(context);
  const stopped = new AbortController();
  const progress = await downloader.download({
    image,
    auth,
    expectedBytes: price.downloadBytes,
    onProgress: (now) => {
      // Such as layers of an image that was loaded by hand: the engine has them, and does not know them by these names.
      const refusal = tooExpensive({ ...price, downloadBytes: now.total }, bounds);
      if (refusal) stopped.abort(new EdgeError(refusal.code, refusal.message, refusal.details));
      teller.progress(now);
    },
    onTrouble: (trouble) => teller.trouble(trouble),
    onReceived: (bytes) => {
      turn.progressed();
      ledger.count({ purpose: "pulls", direction: "received", bytes, app: record.app, deployment: record.id });
    },
    signal: AbortSignal.any([signal, stopped.signal]),
  });
  return progress.received > 0 ? [summaryEvent(progress)] : [];
}

/** Turns what happens to a download into events, few enough for a metered link. */
class Teller {
  readonly #context: StepContext;
  #samples: Sample[] = [];
  #toldAt = Number.NEGATIVE_INFINITY;
  #toldDone = -1;
  #percent = 0;
  #pauseToldAt = Number.NEGATIVE_INFINITY;
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
    if (now - this.#toldAt < PROGRESS_INTERVAL_MS || done === this.#toldDone) return;
    this.#samples = withSample(this.#samples, { at: now, bytes: done });
    const event = progressEvent({ done, total, rate: rateOf(this.#samples), cuts }, this.#percent);
    this.#toldAt = now;
    this.#toldDone = done;
    this.#percent = event.progress ?? this.#percent;
    this.#context.emit(event);
  }

  trouble({ kind, reason, retryInMs }: FetchTrouble): void {
    const { clock, logger, record, emit } = this.#context;
    logger.debug({ deployment: record.id, app: record.app, kind, reason, retry_ms: retryInMs }, "a transfer broke off");
    const now = clock.monotonic();
    if (retryInMs < LONG_PAUSE_MS || now - this.#pauseToldAt < PAUSE_TOLD_EVERY_MS) return;
    this.#pauseToldAt = now;
    emit(waitEvent(reason, retryInMs));
  }
}
