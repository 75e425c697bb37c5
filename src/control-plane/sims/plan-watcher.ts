import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { DuePlan } from "../store/data-plans.ts";
import type { Store } from "../store/store.ts";
import { logStoreError, StoreUnavailableError } from "../store/unavailable.ts";
import type { DataPlans } from "./data-plans.ts";

const LEASE = "data-plans";
/** An instance that dies leaves the plans to another one after this time. */
const LEASE_MS = 60_000;
/** Pause between two looks for plans that are due. */
const LOOK_INTERVAL_MS = 60_000;
/** Pause after usage that was not to be had. */
const RETRY_MS = 15 * 60_000;
/** As many as an operator is asked at once. */
const BATCH = 4;

export interface PlanWatcherOptions {
  readonly store: Pick<Store, "isShared" | "leases" | "dataPlans">;
  readonly plans: DataPlans;
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
  readonly logger: Logger;
  readonly instanceId: string;
}

/** Judges the data plan of each SIM about once an hour, at one instance at a time. */
export class PlanWatcher implements AsyncDisposable {
  readonly #options: PlanWatcherOptions;
  readonly #stopping = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: PlanWatcherOptions) {
    this.#options = options;
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { store, clock, logger, instanceId } = this.#options;
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      let isMoreDue = false;
      try {
        isMoreDue = (await this.#acquire()) && (await this.#judgeDue());
      } catch (error) {
        if (!signal.aborted) logStoreError(logger, error, {}, "cannot judge data plans; trying again");
      }
      if (!isMoreDue) await clock.sleep(LOOK_INTERVAL_MS, signal).catch(() => {});
    }
    if (store.isShared) await store.leases.release(LEASE, instanceId).catch(() => {});
  }

  async #acquire(): Promise<boolean> {
    const { store, serviceClock, instanceId } = this.#options;
    if (!store.isShared) return true;
    const nowMs = Math.floor(serviceClock.serviceNow());
    return (await store.leases.acquire(LEASE, instanceId, nowMs, nowMs + LEASE_MS)) !== undefined;
  }

  /** Returns whether there may be more that is due. */
  async #judgeDue(): Promise<boolean> {
    const { store, clock } = this.#options;
    const due = await store.dataPlans.listDue(clock.now(), BATCH);
    await Promise.all(due.map((plan) => this.#judge(plan)));
    return due.length >= BATCH;
  }

  async #judge({ asset, type, finding }: DuePlan): Promise<void> {
    const { plans, logger } = this.#options;
    try {
      await plans.judge(asset, type);
    } catch (error) {
      if (this.#stopping.signal.aborted || error instanceof StoreUnavailableError) throw error;
      logger.debug({ err: error, asset: asset.uuid, sim_type: type }, "usage is not there; the plan is judged later");
      await plans.postpone(asset, type, finding, RETRY_MS);
    }
  }
}
