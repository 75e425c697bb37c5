import type { Logger } from "../../lib/logger.ts";
import { KeyedLock } from "../../lib/keyed-lock.ts";
import type { LeaseStore } from "../store/instances.ts";
import type { ServiceClock } from "./service-clock.ts";
import { logStoreError } from "../store/unavailable.ts";

const LEASE_MS = 30_000;
const RENEW_INTERVAL_MS = 10_000;
const RETRY_MS = 200;

export interface LeaseLockOptions {
  /** `undefined` if this instance is alone. */
  readonly leases: LeaseStore | undefined;
  readonly instanceId: string;
  readonly clock: ServiceClock;
  readonly logger: Logger;
}

/** A mutex per name over all instances. One of an instance that dies is free again after half a minute. */
export class LeaseLock {
  readonly #options: LeaseLockOptions;
  readonly #local = new KeyedLock();

  constructor(options: LeaseLockOptions) {
    this.#options = options;
  }

  /**
   * Resolves when the caller has the lock, until it is disposed of. Rejects with the signal's reason when that aborts first.
   *
   * @param name one of a bounded number: it stays on record
   */
  async acquire(name: string, signal: AbortSignal): Promise<AsyncDisposable> {
    await using held = new AsyncDisposableStack();
    held.use(await this.#local.acquire(name, signal));
    const { leases, instanceId } = this.#options;
    if (leases) {
      while (!(await this.#renew(leases, name))) await this.#options.clock.sleep(RETRY_MS, signal);
      held.defer(() => leases.release(name, instanceId).catch((error: unknown) => this.#warn(error, name)));
      held.use(this.#keep(leases, name));
    }
    return held.move();
  }

  async #renew(leases: LeaseStore, name: string): Promise<boolean> {
    const { instanceId, clock } = this.#options;
    const nowMs = Math.floor(clock.serviceNow());
    return (await leases.acquire(name, instanceId, nowMs, nowMs + LEASE_MS)) !== undefined;
  }

  #keep(leases: LeaseStore, name: string): Disposable {
    const { clock } = this.#options;
    const schedule = (): Disposable =>
      clock.timer(RENEW_INTERVAL_MS, () => {
        this.#renew(leases, name).catch((error: unknown) => this.#warn(error, name));
        timer = schedule();
      });
    let timer = schedule();
    return { [Symbol.dispose]: () => timer[Symbol.dispose]() };
  }

  #warn(error: unknown, name: string): void {
    logStoreError(this.#options.logger, error, { lease: name }, "cannot renew or release a lease");
  }
}
