import { fullJitter } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { isFinal } from "../../protocol/deployment-event.ts";
import { LABELS } from "../core/app/container.ts";
import { ReportRateLimiter } from "../core/report/report-rate-limiter.ts";
import type { Engine } from "../engine/engine.ts";
import type { StoreChange } from "../store/store.ts";
import type { ReportBuilder } from "./report-builder.ts";

/** Changes come in swarms: a restart is three of them. What follows within this time is told with the first. */
const SETTLE_MS = 2_000;
/** What a deployment came to is looked at as soon as it is no longer at work: whoever asked for it may look next. */
const ENDED_SETTLE_MS = 100;

/** Pauses between attempts to watch an engine that is away. */
const RETRY = { baseMs: 2_000, maxMs: 60_000 };

export interface ReporterOptions {
  readonly builder: ReportBuilder;
  readonly engine: Engine;
  readonly store: { onChange(watcher: (change: StoreChange) => void): Disposable };
  readonly clock: Clock;
  readonly random: () => number;
  readonly logger: Logger;
  /** By which the agent knows its own containers. */
  readonly stateDir: string;
  /** How many reports an hour may be sent of changes nobody asked for. */
  readonly maxPerHour: number;
}

/**
 * Sees to it that what changes about the apps is told: looks when the engine or the store says that something happened,
 * and never otherwise. While an app crashes over and over, it is told of at a bounded rate; what a deployment came to is
 * told at once.
 */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #rateLimiter: ReportRateLimiter;
  #wake: (() => void) | undefined;
  #isDue = true;
  /** A deployment ended: whoever asked for it waits. */
  #isUrgent = true;
  #hasEnded = false;
  #isRateLimited = false;

  constructor(options: ReporterOptions) {
    this.#options = options;
    this.#rateLimiter = new ReportRateLimiter(options.maxPerHour, options.clock.monotonic());
  }

  /** Tells until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    using _changes = this.#options.store.onChange((change) => this.#stored(change));
    await Promise.all([this.#watch(signal), this.#reportLoop(signal)]);
  }

  #stored({ app, removedApp, events = [] }: StoreChange): void {
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
          // What happened while nobody watched is seen by looking, too.
          this.#markDue();
        }
      } catch {
        // The keeper says when the engine is away, and when it is back.
      }
      await clock.sleep(RETRY.baseMs + fullJitter(attempt, RETRY, random()), signal).catch(() => undefined);
    }
  }

  async #reportLoop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#untilDue(signal);
        await this.#settle(signal);
        await this.#pause(signal);
        await this.#update(signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#options.logger.debug({ err: error }, "the apps could not be looked at for the report; trying again");
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

  /** Waits for the pace, unless somebody waits for what there is to tell. */
  async #pause(signal: AbortSignal): Promise<void> {
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

const FOREVER_MS = 2 ** 31 - 1;
