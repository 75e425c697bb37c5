import { fullJitter } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { isFinal } from "../../protocol/deployment-event.ts";
import { LABELS } from "../core/app/container.ts";
import { ReportRateLimiter } from "../core/report/report-rate-limiter.ts";
import type { Engine } from "../engine/engine.ts";
import type { StoreChange } from "../store/store.ts";
import type { ReportBuilder } from "./report-builder.ts";

/** Changes come in bursts: a restart causes three. Changes within this time are reported together. */
const SETTLE_MS = 2_000;
/** Shorter after the end of a deployment: the client may ask for the result next. */
const ENDED_SETTLE_MS = 100;

/** Delays between attempts to watch an engine that is not running. */
const RETRY = { baseMs: 2_000, maxMs: 60_000 };
const FOREVER_MS = 2 ** 31 - 1;

export interface ReporterOptions {
  readonly builder: ReportBuilder;
  readonly engine: Engine;
  readonly store: { onChange(watcher: (change: StoreChange) => void): Disposable };
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** Identifies the agent's own containers by label. */
  readonly stateDir: string;
  /** Maximum reports per hour for changes that no deployment made. */
  readonly maxPerHour: number;
}

/**
 * Publishes a report when the apps have changed. Reads their state only after an event of the engine or a change of the
 * store. The rate is limited, for apps that crash in a loop; results of deployments are reported at once.
 */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #rateLimiter: ReportRateLimiter;
  #wake: (() => void) | undefined;
  #isDue = true;
  /** A deployment has ended: the rate limit does not apply. */
  #isUrgent = true;
  #hasEnded = false;
  #isRateLimited = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#rateLimiter = new ReportRateLimiter(options.maxPerHour, options.clock.monotonic());
  }

  /** Runs until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    using _changes = this.#options.store.onChange((change) => this.#onStoreChange(change));
    await Promise.all([this.#watch(signal), this.#reportLoop(signal)]);
  }

  #onStoreChange({ app, removedApp, events = [] }: StoreChange): void {
    const isEnd = events.some(isFinal);
    if (!app && removedApp === undefined && !isEnd) return;
    this.#isUrgent ||= isEnd;
    this.#hasEnded ||= isEnd;
    this.#markDue();
  }

  #markDue(): void {
    this.#isDue = true;
    this.#wake?.();
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { engine, clock, random, stateDir } = this.#options;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        for await (const _change of engine.watchContainers(`${LABELS.stateDir}=${stateDir}`, signal)) {
          attempt = 0;
          // One report covers all events, also those missed while the stream was broken.
          this.#markDue();
        }
      } catch {
        // The app reconciler logs when the engine stops answering, and when it answers again.
      }
      await clock.sleep(RETRY.baseMs + fullJitter(attempt, RETRY, random()), signal).catch(() => undefined);
    }
  }

  async #reportLoop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#untilDue(signal);
        await this.#settle(signal);
        await this.#awaitRateLimit(signal);
        await this.#update(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#options.logger.debug({ err: error }, "reading the apps for a report failed; trying again");
        this.#isDue = true;
        await this.#sleep(RETRY.maxMs, signal).catch(() => undefined);
      }
    }
  }

  async #settle(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonic() + SETTLE_MS;
    for (let left = SETTLE_MS; left > 0 && !this.#hasEnded; left = untilMs - clock.monotonic()) {
      await this.#sleep(left, signal);
    }
    if (this.#hasEnded) await clock.sleep(ENDED_SETTLE_MS, signal);
  }

  /** Waits for the rate limiter, unless the report is urgent. */
  async #awaitRateLimit(signal: AbortSignal): Promise<void> {
    const { clock, logger, maxPerHour } = this.#options;
    const delay = (): number => (this.#isUrgent ? 0 : this.#rateLimiter.delay(clock.monotonic()));
    if (delay() === 0) this.#isRateLimited = false;
    else if (!this.#isRateLimited) {
      logger.info({ reports_max_per_hour: maxPerHour }, "apps change often; reports are held back");
      this.#isRateLimited = true;
    }
    for (let left = delay(); left > 0; left = delay()) await this.#sleep(left, signal);
  }

  async #update(signal: AbortSignal): Promise<void> {
    const { builder, clock } = this.#options;
    this.#isDue = false;
    this.#isUrgent = false;
    this.#hasEnded = false;
    const { changed, recheckMs } = await builder.update(signal);
    if (changed) {
      this.#rateLimiter.spend(clock.monotonic());
      builder.publish();
    }
    if (recheckMs === undefined) return;
    await this.#sleep(recheckMs, signal);
    this.#isDue = true;
  }

  async #untilDue(signal: AbortSignal): Promise<void> {
    while (!this.#isDue) await this.#sleep(FOREVER_MS, signal);
  }

  /** Sleeps until something changes, or for so long. */
  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const woken = Promise.withResolvers<void>();
    this.#wake = woken.resolve;
    using _timer = this.#options.clock.timer(ms, woken.resolve);
    const onAbort = (): void => woken.reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await woken.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
      this.#wake = undefined;
    }
  }
}
