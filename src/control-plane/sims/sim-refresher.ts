import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import type { SimType } from "../../protocol/assets/sim.ts";
import { assetLockOf } from "../assets/asset-lock.ts";
import type { LeaseLock } from "../instances/lease-lock.ts";
import { callOperator } from "../sim-operator/call-operator.ts";
import { operatorFailed } from "../sim-operator/explain-failure.ts";
import { type ObservedSim, type OperatorSim, type SimOperator, toOperatorSim } from "../sim-operator/sim-operator.ts";
import type { SimOperators } from "../sim-operator/sim-operators.ts";
import type { SimEntry } from "../store/sims.ts";
import type { Store } from "../store/store.ts";
import { StoreUnavailableError } from "../store/unavailable.ts";
import { checkedSim } from "./checked-sim.ts";

/** What the operator said of a SIM less than this ago is not asked again. */
const FRESH_MS = 60_000;

export interface SimRefresherOptions {
  readonly store: Pick<Store, "sims">;
  readonly simOperators: SimOperators;
  readonly locks: LeaseLock;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly stopping: AbortSignal;
  /** How often each SIM is read at its operator anyway, in milliseconds. */
  readonly intervalMs: number;
}

/** Asks the operators for SIMs at once, for a person who does not want to wait for the daily reading. */
export class SimRefresher {
  readonly #options: SimRefresherOptions;

  constructor(options: SimRefresherOptions) {
    this.#options = options;
  }

  /**
   * Returns the SIM as its operator has it: at most a minute old. Where no operator serves its type, that is as it is stored. Errors:
   * `AssetNotFound`, `SimNotFound`, and `SimOperatorFailed`, where nothing has changed.
   */
  async refresh(accountId: string, assetUuid: string, type: SimType): Promise<SimEntry> {
    const { simOperators, locks, stopping, clock, store, intervalMs } = this.#options;
    const known = await this.#find(accountId, assetUuid, type);
    const operator = await simOperators.find(accountId, type);
    if (operator.usagePeriod === undefined || this.#isFresh(known)) return known;
    // So that nothing is stored that an update has made out of date meanwhile, and that several who ask are one question.
    await using _lock = await locks.acquire(assetLockOf(assetUuid), stopping);
    const entry = await this.#find(accountId, assetUuid, type);
    const sim = toOperatorSim(entry.asset, type);
    if (!sim || this.#isFresh(entry)) return entry;
    const observed = await this.#ask(operator, sim, assetUuid);
    const { state, check, entry: audit } = checkedSim(entry, sim.state, observed, { clock, intervalMs });
    await store.sims.recordCheck(assetUuid, type, state, check, audit);
    return this.#find(accountId, assetUuid, type);
  }

  async #find(accountId: string, assetUuid: string, type: SimType): Promise<SimEntry> {
    const entry = await this.#options.store.sims.findSim(accountId, assetUuid, type);
    if (!entry) throw new EdgeError("SimNotFound", undefined, { sim_type: type });
    return entry;
  }

  #isFresh({ checkedAtMs }: SimEntry): boolean {
    // Of a clock that was ahead it would be fresh for years.
    return checkedAtMs !== undefined && Math.abs(this.#options.clock.now() - checkedAtMs) < FRESH_MS;
  }

  async #ask(operator: SimOperator, sim: OperatorSim, assetUuid: string): Promise<ObservedSim | undefined> {
    const { clock, stopping, logger } = this.#options;
    try {
      return await callOperator(clock, stopping, (signal) => operator.findSim(sim, signal));
    } catch (cause) {
      if (stopping.aborted || cause instanceof StoreUnavailableError) throw cause;
      logger.error({ err: cause, asset: assetUuid, sim: sim.type }, "SIM operator did not answer for a SIM");
      throw operatorFailed(cause, { sim_type: sim.type });
    }
  }
}
