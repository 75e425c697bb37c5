import type { Logger } from "../../lib/logger.ts";
import { type AcquireLease, LeasedLoop } from "../instances/leased-loop.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import type { DueDataPlan } from "../store/data-plans.ts";
import type { Store } from "../store/store.ts";
import { StoreUnavailableError } from "../store/unavailable.ts";
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

export interface DataPlanWatcherOptions {
  readonly store: Pick<Store, "isShared" | "leases" | "dataPlans">;
  readonly plans: DataPlans;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  readonly instanceId: string;
}

/** Judges the data plan of each SIM about once an hour, at one instance at a time. */
export class DataPlanWatcher implements AsyncDisposable {
  readonly #options: DataPlanWatcherOptions;
  readonly #loop: LeasedLoop;

  constructor(options: DataPlanWatcherOptions) {
    this.#options = options;
    this.#loop = new LeasedLoop({
      ...options,
      lease: LEASE,
      leaseMs: LEASE_MS,
      pauseMs: () => LOOK_INTERVAL_MS,
      failureMessage: "cannot judge data plans; trying again",
      work: (signal, acquire) => this.#judgeDue(signal, acquire),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
  }

  /** Returns whether there may be more that is due. */
  async #judgeDue(signal: AbortSignal, acquire: AcquireLease): Promise<boolean> {
    const { store, clock } = this.#options;
    if (!(await acquire())) return false;
    const due = await store.dataPlans.listDue(clock.now(), BATCH);
    await Promise.all(due.map((plan) => this.#judge(plan, signal)));
    return due.length >= BATCH;
  }

  async #judge({ asset, type, finding }: DueDataPlan, signal: AbortSignal): Promise<void> {
    const { plans, logger } = this.#options;
    try {
      await plans.judge(asset, type);
    } catch (error) {
      if (signal.aborted || error instanceof StoreUnavailableError) throw error;
      logger.debug({ err: error, asset: asset.uuid, sim_type: type }, "usage is not there; the plan is judged later");
      await plans.postpone(asset, type, finding, RETRY_MS);
    }
  }
}
