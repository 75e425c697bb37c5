import { Latch } from "../../lib/latch.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Bus } from "../bus/bus.ts";
import type { ServiceClock } from "../instances/service-clock.ts";
import { SharedRole } from "../instances/shared-role.ts";
import type { Sealer } from "../sealing/sealer.ts";
import type { Store } from "../store/store.ts";
import { logStoreError } from "../store/unavailable.ts";
import type { AppOutput } from "./app-output.ts";
import type { Attempts } from "./attempts.ts";
import { AccountRollouts } from "./account-rollouts.ts";
import { newUpkeep } from "./new-upkeep.ts";
import { rolloutEvent } from "./rollout-events.ts";

const LEASE = "fleets";
/** An instance that dies leaves the rollouts to another one after this time. */
const LEASE_MS = 10_000;
const RENEW_INTERVAL_MS = 3_000;
/** Pause between two looks for rollouts, should a message have been lost. */
const LOOK_INTERVAL_MS = 60_000;

export interface CoordinatorOptions {
  readonly store: Store;
  readonly bus: Bus;
  readonly attempts: Attempts;
  readonly output: AppOutput;
  readonly sealer: Sealer;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  readonly instanceId: string;
}

/**
 * Looks after the rollouts of all fleets, at one instance at a time. An instance whose lease has lapsed without its knowledge
 * changes nothing: another one has taken its rollouts up.
 */
export class FleetCoordinator implements AsyncDisposable {
  readonly #options: CoordinatorOptions;
  readonly #stopping = new AbortController();
  readonly #latch = new Latch();
  readonly #role: SharedRole;
  readonly #running: Promise<void>;

  constructor(options: CoordinatorOptions) {
    this.#options = options;
    this.#role = new SharedRole({ ...options, lease: LEASE, leaseMs: LEASE_MS });
    this.#running = this.#run();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopping.abort();
    this.#latch.set();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { bus, clock } = this.#options;
    const { signal } = this.#stopping;
    using _subscription = bus.subscribe("fleets", this.#latch.set);
    while (!signal.aborted) {
      if (await this.#acquire()) await this.#lead();
      else await this.#latch.wait(clock, RENEW_INTERVAL_MS);
    }
    await this.#role.release();
  }

  /** Looks after everything until the lease is lost or this is stopped. */
  async #lead(): Promise<void> {
    const { store, bus, clock } = this.#options;
    const { signal } = this.#stopping;
    const ending = new AbortController();
    await using term = new Term(this.#options, ending.signal);
    let lookAtMs = -Infinity;
    let renewAtMs = clock.monotonic() + RENEW_INTERVAL_MS;
    this.#latch.set();
    try {
      while (!signal.aborted) {
        const isWoken = await this.#latch.wait(clock, store.isShared ? RENEW_INTERVAL_MS : LOOK_INTERVAL_MS);
        const nowMs = clock.monotonic();
        if (store.isShared && nowMs >= renewAtMs) {
          if (!(await this.#acquire())) return;
          renewAtMs = nowMs + RENEW_INTERVAL_MS;
        }
        if (!isWoken && nowMs - lookAtMs < LOOK_INTERVAL_MS) continue;
        lookAtMs = nowMs;
        await term.look(() => bus.publish("fleets"));
      }
    } finally {
      ending.abort();
    }
  }

  async #acquire(): Promise<boolean> {
    try {
      return await this.#role.acquire();
    } catch (error) {
      logStoreError(this.#options.logger, error, { lease: LEASE }, "cannot renew or release a lease");
      return false;
    }
  }
}

/** The time in which this instance looks after the rollouts. */
class Term implements AsyncDisposable {
  readonly #options: CoordinatorOptions;
  readonly #signal: AbortSignal;
  readonly #accounts = new Map<string, AccountRollouts>();

  constructor(options: CoordinatorOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** Begins to look after rollouts that are new, and tells the others that something may have changed. */
  async look(onFleetChanged: () => void): Promise<void> {
    const { store, clock, logger } = this.#options;
    try {
      for (const fleet of await store.rollouts.listWithoutUpkeep()) {
        const upkeep = newUpkeep(fleet, clock.now());
        const event = rolloutEvent(upkeep, [], clock.now());
        await store.rollouts.createRollout(upkeep, [], event, () => ({ fields: {} }));
      }
      const accounts = new Set(await store.members.listAccounts());
      for (const accountId of accounts) this.#accountOf(accountId, onFleetChanged);
      for (const [id, account] of this.#accounts) {
        if (accounts.has(id)) continue;
        this.#accounts.delete(id);
        void account[Symbol.asyncDispose]();
      }
      const active = await store.rollouts.listActive();
      for (const rollout of active) this.#accountOf(rollout.accountId, onFleetChanged).look(rollout, this.#signal);
    } catch (error) {
      logStoreError(logger, error, {}, "cannot look for rollouts; trying again");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#accounts.values()].map((account) => account[Symbol.asyncDispose]()));
  }

  #accountOf(accountId: string, onFleetChanged: () => void): AccountRollouts {
    const known = this.#accounts.get(accountId);
    if (known) return known;
    const account = new AccountRollouts({ ...this.#options, accountId, onFleetChanged });
    this.#accounts.set(accountId, account);
    return account;
  }
}
