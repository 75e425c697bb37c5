import type { Clock } from "../../lib/clock.ts";
import { unixNow } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { auditEntry } from "../audit/audit-entry.ts";
import type { SimState } from "../core/asset.ts";
import { afterCheck, followUpPauseMs, isSameState } from "../core/sims/observed-state.ts";
import type { LeaseLock } from "../instances/lease-lock.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import { callOperator } from "../sim-operator/call-operator.ts";
import { type ObservedSim, type SimOperator, SimOperatorError, toOperatorSim } from "../sim-operator/sim-operator.ts";
import type { SimOperators } from "../sim-operator/sim-operators.ts";
import type { AuditEntry } from "../store/audit.ts";
import type { DueSim } from "../store/sims.ts";
import type { Store } from "../store/store.ts";
import { logStoreError, StoreUnavailableError } from "../store/unavailable.ts";
import { assetLockOf } from "../assets/asset-lock.ts";
import { OperatorPauses } from "./operator-pauses.ts";

const LEASE = "sims";
/** An instance that dies leaves the SIMs to another one after this time. */
const LEASE_MS = 30_000;
/** For the answer about one SIM, while others of its batch are before it; within the lease. */
const CHECK_TIMEOUT_MS = 20_000;
/** Pause between two looks for SIMs that are due. */
const LOOK_INTERVAL_MS = 5_000;
const BATCH = 40;
/** Share of the interval by which checks of different SIMs drift apart, so that they spread over it. */
const SPREAD = 0.2;

export interface SimWatcherOptions {
  readonly store: Pick<Store, "isShared" | "leases" | "sims" | "assets">;
  readonly simOperators: SimOperators;
  readonly locks: LeaseLock;
  readonly clock: Clock;
  readonly serviceClock: ServiceClock;
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
  readonly #stopping = new AbortController();
  readonly #pauses: OperatorPauses;
  readonly #running: Promise<void>;

  constructor(options: SimWatcherOptions) {
    this.#options = options;
    this.#pauses = new OperatorPauses(options.clock);
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { store, clock, simOperators, logger, instanceId } = this.#options;
    const { signal } = this.#stopping;
    if (simOperators.served.length === 0) return;
    while (!signal.aborted) {
      let isMoreDue = false;
      try {
        isMoreDue = (await this.#acquire()) && (await this.#checkDue());
      } catch (error) {
        if (!signal.aborted) logStoreError(logger, error, {}, "cannot look for SIMs; trying again");
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
  async #checkDue(): Promise<boolean> {
    const { store, simOperators, clock } = this.#options;
    const due = await store.sims.listDueSims(simOperators.served, clock.now(), BATCH);
    await Promise.all(due.map((sim) => this.#check(sim)));
    return due.length >= BATCH;
  }

  async #check({ asset: { uuid, accountId }, type, isLost }: DueSim): Promise<void> {
    const { store, simOperators, locks, clock } = this.#options;
    const { signal } = this.#stopping;
    const operator = await simOperators.find(accountId, type);
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
      await this.#record({ asset, type, isLost }, sim.state, observed);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof StoreUnavailableError) throw error;
      await this.#postpone(operator, { uuid, type }, error);
    }
  }

  async #record(due: DueSim, current: SimState, observed: ObservedSim | undefined): Promise<void> {
    const { store, clock, intervalMs } = this.#options;
    const nowMs = clock.now();
    const state = observed ? afterCheck(current, observed, unixNow(clock)) : current;
    const nextMs =
      state.pending && observed
        ? followUpPauseMs(state.pending, nowMs)
        : intervalMs * (1 - SPREAD / 2 + SPREAD * Math.random());
    const check = {
      operatorStatus: observed?.operatorStatus,
      allowanceBytes: observed?.allowanceBytes,
      isLost: observed === undefined,
      checkedAtMs: nowMs,
      nextCheckAtMs: Math.ceil(nowMs + nextMs),
    };
    await store.sims.recordCheck(due.asset.uuid, due.type, state, check, this.#entryOf(due, current, state, observed));
  }

  /** What there is to tell; `undefined` where all is as it was. */
  #entryOf(
    { asset, type, isLost }: DueSim,
    before: SimState,
    after: SimState,
    observed: ObservedSim | undefined,
  ): AuditEntry | undefined {
    const action = actionOf({ before, after, wasLost: isLost, isLost: observed === undefined });
    if (action === undefined) return undefined;
    const { accountId, uuid, name } = asset;
    const origin = { accountId, actor: { kind: "service", id: "sims" }, source: undefined } as const;
    return auditEntry(origin, this.#options.clock, {
      action,
      assetUuid: uuid,
      subject: { kind: "asset", id: uuid, name },
      details: {
        sim_type: type,
        status: after.status,
        network_group: after.networkGroup,
        operator_status: observed?.operatorStatus,
      },
    });
  }

  async #postpone(operator: SimOperator, { uuid, type }: { uuid: string; type: DueSim["type"] }, error: unknown) {
    const { store, logger } = this.#options;
    const retryAfterMs = error instanceof SimOperatorError ? error.retryAfterMs : undefined;
    // What one SIM is refused says nothing of the others.
    const isOfAll =
      !(error instanceof SimOperatorError) || !["refused", "malformed", "not_found"].includes(error.failure);
    const { untilMs, isFirst } = this.#pauses.begin(operator, retryAfterMs, isOfAll);
    if (isFirst) logger.warn({ err: error, sim_type: type }, "the SIM operator did not answer; SIMs are read later");
    await store.sims.postponeCheck(uuid, type, untilMs);
  }
}

interface Difference {
  readonly before: SimState;
  readonly after: SimState;
  readonly wasLost: boolean;
  readonly isLost: boolean;
}

function actionOf({ before, after, wasLost, isLost }: Difference) {
  if (isLost) return wasLost ? undefined : "sim.lost";
  if (before.pending && !after.pending) return "sim.settled";
  if (!isSameState(before, after)) return "sim.corrected";
  return wasLost ? "sim.found" : undefined;
}
