import type { Logger } from "../../lib/logger.ts";
import { type Instance, INSTANCE_LEASE_MS } from "../store/instances.ts";
import type { SessionFence } from "../store/sessions.ts";
import type { Store } from "../store/store.ts";
import { type ServiceClock, unixTimeOf } from "./service-clock.ts";
import { SharedRole } from "./shared-role.ts";
import { logStoreError } from "../store/unavailable.ts";

const LEASE = "dead-instances";
const LEASE_MS = 10_000;
/** The other instances that do not renew their lease, as of the last look of `DeadInstanceSweeper`. */
export class UnresponsiveInstances {
  #ids: ReadonlySet<string> = new Set();

  readonly has = (id: string): boolean => this.#ids.has(id);

  replace(ids: Iterable<string>): void {
    this.#ids = new Set(ids);
  }
}

/** Sessions that are ended in one piece. */
const MAX_SESSIONS_AT_ONCE = 200;
/**
 * How long the sessions of an instance whose lease has lapsed stay on record: a request for one of its devices gets an error of the
 * service and not of the device, which comes back as soon as the instance has been killed.
 */
const KEEP_SESSIONS_MS = 15_000;
/** An instance that has left out two renewals of its lease does not respond. */
const MAX_RENEWAL_AGE_MS = 6_500;
/** How long a dead instance is remembered: it may have opened sessions after its end, when it was paused. */
const KEEP_MS = 3_600_000;

export interface DeadInstanceSweeperOptions {
  readonly store: Pick<Store, "instances" | "isShared" | "leases" | "sessions">;
  readonly instanceId: string;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  /** Is told which instances do not respond. */
  readonly unresponsive: UnresponsiveInstances;
  /** Returns the devices that have unfinished deployments. */
  readonly listBusyAssets: () => Promise<ReadonlySet<string>>;
  /** Records for these sessions that the connection to the device was lost. May be repeated. */
  readonly noteLost: (sessions: readonly SessionFence[]) => Promise<void>;
}

/** Finds out which instances do not respond, and ends their sessions. One instance does that at a time. */
export class DeadInstanceSweeper {
  readonly #options: DeadInstanceSweeperOptions;
  readonly #role: SharedRole;
  #isRunning = false;

  constructor(options: DeadInstanceSweeperOptions) {
    this.#options = options;
    this.#role = new SharedRole({ ...options, lease: LEASE, leaseMs: LEASE_MS });
  }

  /** Looks once. Never throws. */
  async run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    try {
      await this.#endLapsed();
    } catch (error) {
      const message = "cannot end the sessions of an instance that is gone; trying again";
      logStoreError(this.#options.logger, error, {}, message);
    } finally {
      this.#isRunning = false;
    }
  }

  async #endLapsed(): Promise<void> {
    const { store, instanceId } = this.#options;
    const nowMs = this.#nowMs;
    const others = (await store.instances.list()).filter(({ id }) => id !== instanceId);
    const unresponsive = others.filter(({ leaseUntilMs }) => nowMs - renewedAtMs(leaseUntilMs) > MAX_RENEWAL_AGE_MS);
    this.#options.unresponsive.replace(unresponsive.map(({ id }) => id));
    // One that stops has sent its devices away, and they have had the time of a lease.
    const ended = others.filter(
      ({ leaseUntilMs, isStopping }) => leaseUntilMs + (isStopping ? 0 : KEEP_SESSIONS_MS) <= nowMs,
    );
    if (ended.length === 0 || !(await this.#role.acquire())) return;
    for (const instance of ended) if (!(await this.#endSessions(instance))) return;
  }

  /** Returns false if another instance has taken over that work. */
  async #endSessions({ id, isStopping, leaseUntilMs }: Instance): Promise<boolean> {
    const { store, logger, clock, listBusyAssets, noteLost } = this.#options;
    const renewedAt = unixTimeOf(renewedAtMs(leaseUntilMs), clock);
    let count = 0;
    let busy: ReadonlySet<string> | undefined;
    for (;;) {
      const piece = await store.sessions.listHeld(id, MAX_SESSIONS_AT_ONCE);
      if (piece.length === 0) break;
      busy ??= await listBusyAssets();
      // Before the sessions end: after a crash in between it is done again.
      await noteLost(piece.filter(({ assetUuid }) => busy?.has(assetUuid)));
      await store.sessions.end(piece, renewedAt);
      count += piece.length;
      if (!(await this.#role.acquire())) return false;
    }
    if (count > 0) {
      const message = isStopping
        ? "devices of an instance that has stopped did not come back yet"
        : "an instance is gone; its devices count as not connected";
      logger.warn({ instance: id, devices: count }, message);
    }
    await store.instances.removeLapsed(id, this.#nowMs - KEEP_MS);
    return true;
  }

  get #nowMs(): number {
    return Math.floor(this.#options.clock.serviceNow());
  }
}

const renewedAtMs = (leaseUntilMs: number): number => leaseUntilMs - INSTANCE_LEASE_MS;
