import type { Logger } from "../../lib/logger.ts";
import type { LeaseLock } from "../instances/lease-lock.ts";
import { type AcquireLease, LeasedLoop } from "../instances/leased-loop.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import { callOperator } from "../sim-operator/call-operator.ts";
import { type SimOperator, SimOperatorError, toOperatorSim } from "../sim-operator/sim-operator.ts";
import type { SimOperators } from "../sim-operator/sim-operators.ts";
import type { DueSim } from "../store/sims.ts";
import type { Store } from "../store/store.ts";
import { StoreUnavailableError } from "../store/unavailable.ts";
import { assetLockOf } from "../assets/asset-lock.ts";
import { checkedSim } from "./checked-sim.ts";
import { OperatorPauses } from "./operator-pauses.ts";

const LEASE = "sims";
/** An instance that dies leaves the SIMs to another one after this time. */
const LEASE_MS = 30_000;
/** For the answer about one SIM, while others of its batch are before it; within the lease. */
const CHECK_TIMEOUT_MS = 20_000;
/** Pause between two looks for SIMs that are due. */
const LOOK_INTERVAL_MS = 5_000;
const BATCH = 40;

const REFUSED_MESSAGE =
  "the SIM operator refuses the credentials; SIMs are read later. Try them with edge-control sim-operator check";

export interface SimWatcherOptions {
  readonly store: Pick<Store, "isShared" | "leases" | "sims" | "assets">;
  readonly simOperators: SimOperators;
  readonly locks: LeaseLock;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  readonly instanceId: string;
  /** How often each SIM is read at its operator, in milliseconds. */
  readonly intervalMs: number;
}

/**
 * Asks the operators for SIMs: with growing pauses for changes that they have queued until those settle, and once in an interval
 * for what was changed there by other means. It does so at one instance at a time.
 */
export class SimWatcher implements AsyncDisposable {
  readonly #options: SimWatcherOptions;
  readonly #pauses: OperatorPauses;
  readonly #loop: LeasedLoop;

  constructor(options: SimWatcherOptions) {
    this.#options = options;
    this.#pauses = new OperatorPauses(options.clock);
    this.#loop = new LeasedLoop({
      ...options,
      lease: LEASE,
      leaseMs: LEASE_MS,
      pauseMs: () => LOOK_INTERVAL_MS,
      failureMessage: "cannot look for SIMs; trying again",
      work: (signal, acquire) => this.#checkDue(signal, acquire),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#loop[Symbol.asyncDispose]();
  }

  /** Returns whether there may be more that is due. */
  async #checkDue(signal: AbortSignal, acquire: AcquireLease): Promise<boolean> {
    const { store, simOperators, clock } = this.#options;
    const served = await simOperators.listServed();
    if (served.length === 0 || !(await acquire())) return false;
    const due = await store.sims.listDueSims(served, clock.now(), BATCH);
    await Promise.all(due.map((sim) => this.#check(sim, signal)));
    return due.length >= BATCH;
  }

  async #check({ asset: { uuid, accountId }, type, isLost }: DueSim, signal: AbortSignal): Promise<void> {
    const { store, simOperators, locks, clock, intervalMs } = this.#options;
    const operator = await simOperators.find(accountId, type);
    if (operator.usagePeriod === undefined) {
      // This account has no operator for this type of SIM; accounts with credentials of their own have one.
      await store.sims.postponeCheck(uuid, type, Math.ceil(clock.now() + intervalMs));
      return;
    }
    const pausedUntilMs = this.#pauses.pausedUntilMs(operator);
    if (pausedUntilMs !== undefined) {
      await store.sims.postponeCheck(uuid, type, pausedUntilMs);
      return;
    }
    try {
      // So that nothing is stored that an update has made out of date meanwhile.
      await using _lock = await locks.acquire(assetLockOf(uuid), signal);
      const asset = await store.assets.findAsset(accountId, uuid);
      const sim = asset && toOperatorSim(asset, type);
      if (!sim) return;
      const observed = await callOperator(clock, signal, (limit) => operator.findSim(sim, limit), CHECK_TIMEOUT_MS);
      this.#pauses.end(operator);
      const change = checkedSim({ asset, type, isLost }, sim.state, observed, { clock, intervalMs });
      await store.sims.recordCheck(uuid, type, change.state, change.check, change.entry);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof StoreUnavailableError) throw error;
      await this.#postpone(operator, { uuid, type, accountId }, error);
    }
  }

  async #postpone(
    operator: SimOperator,
    { uuid, type, accountId }: { uuid: string; type: DueSim["type"]; accountId: string },
    error: unknown,
  ): Promise<void> {
    const { store, logger } = this.#options;
    const { retryAfterMs, failure } = error instanceof SimOperatorError ? error : {};
    // What one SIM is refused says nothing of the others.
    const isOfAll =
      !(error instanceof SimOperatorError) || !["refused", "malformed", "not_found"].includes(error.failure);
    const { untilMs, isFirst } = this.#pauses.begin(operator, retryAfterMs, isOfAll);
    const fields = { err: error, sim_type: type, account_id: accountId };
    if (isFirst && failure === "credentials") logger.error(fields, REFUSED_MESSAGE);
    else if (isFirst) logger.warn(fields, "the SIM operator did not answer; SIMs are read later");
    await store.sims.postponeCheck(uuid, type, untilMs);
  }
}
