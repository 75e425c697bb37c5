import type { Logger } from "../../lib/logger.ts";
import type { Store } from "../store/store.ts";
import { logStoreError } from "../store/unavailable.ts";
import type { ServiceClock } from "./service-clock.ts";

export interface SharedRoleOptions {
  readonly store: Pick<Store, "isShared" | "leases">;
  readonly instanceId: string;
  readonly clock: Pick<ServiceClock, "serviceNow">;
  readonly logger: Logger;
  /** Name of the lease, one of a bounded number: it stays on record. */
  readonly lease: string;
  /** When an instance dies, another one takes the work over after this time, in milliseconds. */
  readonly leaseMs: number;
}

/** Work that one instance does at a time, under a lease. An instance that has the store for itself always has it. */
export class SharedRole {
  readonly #options: SharedRoleOptions;

  constructor(options: SharedRoleOptions) {
    this.#options = options;
  }

  /** Takes or renews the lease. Returns false while another instance has it. */
  async acquire(): Promise<boolean> {
    const { store, instanceId, clock, lease, leaseMs } = this.#options;
    if (!store.isShared) return true;
    const nowMs = Math.floor(clock.serviceNow());
    return (await store.leases.acquire(lease, instanceId, nowMs, nowMs + leaseMs)) !== undefined;
  }

  /** Leaves the work to another instance. Logs a failure: the lease ends by itself then. */
  async release(): Promise<void> {
    const { store, instanceId, logger, lease } = this.#options;
    if (!store.isShared) return;
    await store.leases.release(lease, instanceId).catch((error: unknown) => {
      logStoreError(logger, error, { lease }, "cannot renew or release a lease");
    });
  }
}
