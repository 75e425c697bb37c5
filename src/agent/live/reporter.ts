import { fullJitter } from "../../lib/backoff.ts";
import { type Clock, pause } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { isFinal } from "../../protocol/deployments/deployment-event.ts";
import { LABELS } from "../core/app/container.ts";
import { ReportRateLimiter } from "../core/report/report-rate-limiter.ts";
import { TroubleDetector } from "../core/report/trouble-detector.ts";
import type { Engine } from "../engine/engine.ts";
import type { StateWatch } from "../host/state-watch.ts";
import type { ClockWatch } from "../link/clock-watch.ts";
import type { StoreChange } from "../store/store.ts";
import type { ReportBuilder } from "./report-builder.ts";

/** Changes come in bursts: a restart causes three. Changes within this time are reported together. */
const SETTLE_MS = 2_000;
/** Shorter after the end of a deployment: the client may ask for the result next. */
const ENDED_SETTLE_MS = 100;

/** Minimum time between two looks at the apps while changes are held back: each costs calls of the engine. */
const HELD_LOOK_INTERVAL_MS = 10_000;

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
  /** Tells when the state can no longer be written, and when it can again, which is reported at once. */
  readonly stateWatch?: Pick<StateWatch, "onChange">;
  /** Tells when the clock is wrong, and right again, which is reported at once. */
  readonly clockWatch?: Pick<ClockWatch, "onChange">;
  /** Tells when the data budget will not last, and when it will again, which is reported at once. */
  readonly budgetWatch?: { onChange(watcher: () => void): Disposable };
  /** Identifies the agent's own containers by label. */
  readonly stateDir: string;
  /** Maximum reports per hour for changes that no deployment made. */
  readonly maxPerHour: number;
}

/**
 * Publishes a report when the apps have changed. Reads their state only after an event of the engine or a change of the
 * store. The rate is limited, for apps that crash in a loop. Results of deployments are reported at once, and so is the
 * first trouble of an app, within a rate limit of its own. Meanwhile other changes are held back, and the builder says so.
 */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #rateLimiter: ReportRateLimiter;
  readonly #troubleRateLimiter: ReportRateLimiter;
  readonly #troubles = new TroubleDetector();
  #wake: (() => void) | undefined;
  #isDue = true;
  /** When it became due. */
  #dueSinceMs: number;
  #lookedAtMs = -Infinity;
  /** A deployment has ended, or the agent can no longer, or again, keep its state: the rate limit does not apply. */
  #isUrgent = true;
  #hasEnded = false;
  #isRateLimited = false;

  constructor(options: ReporterOptions) {
    const now = options.clock.monotonic();
    this.#options = options;
    this.#dueSinceMs = now;
    this.#rateLimiter = new ReportRateLimiter(options.maxPerHour, now);
    this.#troubleRateLimiter = new ReportRateLimiter(options.maxPerHour, now);
  }

  /** Runs until `signal` aborts. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    using _changes = this.#options.store.onChange((change) => this.#onStoreChange(change));
    const { stateWatch, clockWatch, budgetWatch } = this.#options;
    const onUrgent = (): void => {
      this.#isUrgent = true;
      this.#markDue();
    };
    using _state = stateWatch?.onChange(onUrgent);
    using _clock = clockWatch?.onChange(onUrgent);
    using _budget = budgetWatch?.onChange(onUrgent);
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
    if (!this.#isDue) this.#dueSinceMs = this.#options.clock.monotonic();
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
        if (attempt === 0) this.#markDue();
      }
      await pause(clock, RETRY.baseMs + fullJitter(attempt, RETRY, random()), signal);
    }
  }

  async #reportLoop(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#untilDue(signal);
        await this.#settle(signal);
        const nextMs = await this.#look(signal);
        // A change during the look is not in it.
        if (nextMs === undefined || this.#isDue) continue;
        await this.#sleep(nextMs, signal);
        this.#markDue();
      } catch (error) {
        if (signal.aborted) return;
        this.#options.logger.debug({ err: error }, "reading the apps for a report failed; trying again");
        this.#isDue = true;
        // The loop looks at the signal itself.
        await this.#sleep(RETRY.maxMs, signal).catch(() => undefined);
      }
    }
  }

  async #settle(signal: AbortSignal): Promise<void> {
    const { clock, builder } = this.#options;
    const isHolding = builder.outdatedForS() !== undefined;
    const now = clock.monotonic();
    const untilMs = Math.max(now + SETTLE_MS, isHolding ? this.#lookedAtMs + HELD_LOOK_INTERVAL_MS : 0);
    for (let left = untilMs - now; left > 0 && !this.#hasEnded; left = untilMs - clock.monotonic()) {
      await this.#sleep(left, signal);
    }
    if (this.#hasEnded) await clock.sleep(ENDED_SETTLE_MS, signal);
  }

  /**
   * Reads the state of the apps, and reports it or holds it back. Resolves with the milliseconds until the next look, if
   * one is needed without any event.
   */
  async #look(signal: AbortSignal): Promise<number | undefined> {
    const { builder, clock } = this.#options;
    const isUrgent = this.#isUrgent;
    const changedAtMs = this.#dueSinceMs;
    this.#isDue = false;
    this.#isUrgent = false;
    this.#hasEnded = false;
    this.#lookedAtMs = clock.monotonic();
    const { report, isChanged, recheckMs } = await builder.read(signal).catch((error: unknown) => {
      this.#isUrgent ||= isUrgent;
      // What runs now is not known: the last report may be out of date.
      if (!signal.aborted) builder.hold(changedAtMs);
      throw error;
    });
    const now = clock.monotonic();
    const isFirstTrouble = this.#troubles.observe(builder.reportedApps, report.apps, now);
    if (!isChanged && builder.outdatedForS() === undefined) return recheckMs;
    if (isUrgent || this.#mayReport(isFirstTrouble, now)) {
      if (isChanged) builder.publish(report);
      else builder.hold(undefined);
      return recheckMs;
    }
    builder.hold(changedAtMs);
    return this.#rateLimiter.delay(now);
  }

  /** Whether the rate limits allow a report now, which is counted. Logs when they begin to hold reports back. */
  #mayReport(isFirstTrouble: boolean, now: number): boolean {
    const { logger, maxPerHour, builder } = this.#options;
    if (this.#rateLimiter.take(now)) {
      this.#isRateLimited &&= builder.outdatedForS() !== undefined;
      return true;
    }
    if (!this.#isRateLimited) {
      logger.info({ reports_max_per_hour: maxPerHour }, "apps change often; reports are held back");
      this.#isRateLimited = true;
    }
    return isFirstTrouble && this.#troubleRateLimiter.take(now);
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
