import { unixNow } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { VERSION } from "../../lib/version.ts";
import { type Instance, INSTANCE_LEASE_MS as LEASE_MS } from "../store/instances.ts";
import type { Store } from "../store/store.ts";
import { type ServiceClock, unixTimeOf } from "./service-clock.ts";

/** How often the lease of an instance is renewed. */
const RENEW_INTERVAL_MS = 3_000;
/** How often an instance that is alone records that it runs. After a crash its devices count as seen until then. */
const NOTE_INTERVAL_MS = 60_000;
const RETRY_INTERVAL_MS = 1_000;
/** How long an instance keeps its devices without a lease: the database may come back. */
const KEEP_DEVICES_MS = 30_000;

const JOIN_LEASE = "join";
const JOIN_LEASE_MS = 30_000;
const JOIN_RETRY_MS = 250;

const LAPSED_MESSAGE = "the lease of this instance has lapsed, and others may have taken over; it joins again";
const OTHER_DATABASE_MESSAGE =
  "another database has taken the place of the one that this instance joined; it joins again";

export interface MembershipOptions {
  readonly store: Pick<Store, "isShared" | "idempotency" | "instances" | "leases" | "sessions">;
  readonly instanceId: string;
  readonly clock: ServiceClock;
  readonly logger: Logger;
  /**
   * Resumes what was unfinished when the service was last there.
   *
   * @param isOtherDatabase whether a copy of the database has taken its place since
   * @param onProgress to be called from time to time
   */
  readonly recover: (isOtherDatabase: boolean, onProgress: () => Promise<void>) => Promise<void>;
  /** Takes up again what others may have ended: the lease had lapsed. */
  readonly onRejoined: () => Promise<void>;
  /** The lease lapsed long ago: devices should connect to an instance that can serve them. */
  readonly onAbandoned: () => void;
  /** Called with each renewal: ends what dead instances have left. */
  readonly onRenewed: () => void;
}

/**
 * This instance among those that serve the store. On a store of its own it is alone and its lock file is its lease: it only
 * records from time to time that it runs.
 */
export class Membership {
  readonly #options: MembershipOptions;
  #timer: Disposable | undefined;
  #isLeaving = false;
  /** Until when others count on this instance, in service time. */
  #leaseUntilMs = 0;
  /** Of the database that this instance has joined. */
  #identity: string | undefined;
  #isLapsed = false;
  #isAbandoned = false;
  #renewing: Promise<void> = Promise.resolve();

  constructor(options: MembershipOptions) {
    this.#options = options;
  }

  /** Joins the instances that run. If there are none, the service was down, and what it left is resumed first. */
  async join(): Promise<void> {
    const { isShared, idempotency } = this.#options.store;
    // Of a shared store it is not known: an instance that does not renew its lease may be at work all the same.
    if (!isShared) await idempotency.endAbandoned();
    await this.#join();
    if (isShared) this.#schedule();
    else this.#scheduleNote();
  }

  /** Records that this instance is about to leave. */
  async markStopping(): Promise<void> {
    await this.#options.store.instances.markStopping(this.#options.instanceId);
  }

  /**
   * Leaves. Devices that were sent away count as connected until they are back at another instance, at most for the time of a
   * lease; the last instance ends all sessions.
   */
  async leave(): Promise<void> {
    const { store, instanceId, clock } = this.#options;
    this.#isLeaving = true;
    this.#timer?.[Symbol.dispose]();
    await this.#renewing;
    const nowMs = this.#nowMs;
    if (store.isShared) {
      const others = await this.#others();
      if (others.some(({ isStopping }) => !isStopping)) {
        await store.instances.renew(instanceId, nowMs, nowMs + LEASE_MS);
        return;
      }
    }
    await store.sessions.closeAll(instanceId, unixNow(clock));
    await store.instances.leave(instanceId, Math.floor(clock.serviceNow()));
  }

  get #nowMs(): number {
    return Math.floor(this.#options.clock.serviceNow());
  }

  async #join(): Promise<void> {
    const { store, instanceId, clock } = this.#options;
    if (!store.isShared) return this.#enter([]);
    // One at a time: the first one resumes what was left, and the others find it running.
    while (!(await this.#acquireJoin())) await clock.sleep(JOIN_RETRY_MS);
    try {
      await this.#enter(await this.#others());
    } finally {
      await store.leases.release(JOIN_LEASE, instanceId);
    }
  }

  async #enter(others: readonly Instance[]): Promise<void> {
    const { store, instanceId: id, clock, recover, logger } = this.#options;
    const { instances, sessions } = store;
    const { identity, knownIdentity, aliveAtMs } = await instances.findState();
    const isOtherDatabase = knownIdentity !== undefined && identity !== knownIdentity;
    if (others.length === 0) {
      // Sessions on record are those of processes that are gone.
      await sessions.closeAll(undefined, aliveAtMs && unixTimeOf(aliveAtMs, clock));
      for (const { id: old } of await instances.list()) if (old !== id) await instances.leave(old, 0);
    }
    if (others.length === 0 || isOtherDatabase) {
      if (isOtherDatabase)
        logger.warn("a copy of the database has taken its place; devices are asked what it may lack");
      await recover(isOtherDatabase, async () => void (await this.#acquireJoin()));
    }
    const nowMs = this.#nowMs;
    const leaseUntilMs = store.isShared ? nowMs + LEASE_MS : Number.MAX_SAFE_INTEGER;
    await instances.join({ id, version: VERSION, startedAtMs: nowMs, leaseUntilMs, nowMs });
    this.#leaseUntilMs = leaseUntilMs;
    this.#identity = identity;
    if (store.isShared)
      logger.info(
        { instance: id, others: others.filter(({ isStopping }) => !isStopping).length },
        "this instance serves",
      );
  }

  async #acquireJoin(): Promise<boolean> {
    const { store, instanceId } = this.#options;
    const nowMs = this.#nowMs;
    return (await store.leases.acquire(JOIN_LEASE, instanceId, nowMs, nowMs + JOIN_LEASE_MS)) !== undefined;
  }

  /** Returns the other instances whose lease is valid. */
  async #others(): Promise<Instance[]> {
    const { store, instanceId } = this.#options;
    const nowMs = this.#nowMs;
    const instances = await store.instances.list();
    return instances.filter(({ id, leaseUntilMs }) => id !== instanceId && leaseUntilMs > nowMs);
  }

  #schedule(delayMs = RENEW_INTERVAL_MS): void {
    if (this.#isLeaving) return;
    this.#timer = this.#options.clock.timer(delayMs, () => {
      this.#renewing = this.#renewOrRetry();
    });
  }

  #scheduleNote(): void {
    if (this.#isLeaving) return;
    this.#timer = this.#options.clock.timer(NOTE_INTERVAL_MS, () => {
      this.#renewing = this.#note().finally(() => this.#scheduleNote());
    });
  }

  async #note(): Promise<void> {
    const { store, instanceId, logger } = this.#options;
    try {
      await store.instances.renew(instanceId, this.#nowMs, Number.MAX_SAFE_INTEGER);
    } catch (error) {
      // A store that cannot be written is reported by those who need it.
      logger.debug({ err: error }, "cannot record that this instance runs");
    }
  }

  async #renewOrRetry(): Promise<void> {
    try {
      await this.#renew();
      this.#schedule();
    } catch (error) {
      this.#onNotRenewed(error);
      this.#schedule(RETRY_INTERVAL_MS);
    }
  }

  async #renew(): Promise<void> {
    const { store, instanceId, logger, onRejoined, onRenewed } = this.#options;
    const nowMs = this.#nowMs;
    const isRenewed = await store.instances.renew(instanceId, nowMs, nowMs + LEASE_MS);
    const { identity } = await store.instances.findState();
    if (this.#isLeaving) return;
    if (isRenewed && identity === this.#identity) this.#leaseUntilMs = nowMs + LEASE_MS;
    else {
      logger.warn(identity === this.#identity ? LAPSED_MESSAGE : OTHER_DATABASE_MESSAGE);
      await this.#join();
      await onRejoined();
    }
    this.#isLapsed = false;
    this.#isAbandoned = false;
    onRenewed();
  }

  #onNotRenewed(error: unknown): void {
    const { logger, onAbandoned } = this.#options;
    const lapsedForMs = this.#nowMs - this.#leaseUntilMs;
    if (lapsedForMs < 0) return;
    if (!this.#isLapsed) logger.error({ err: error }, "this instance cannot renew its lease, which has lapsed");
    this.#isLapsed = true;
    if (lapsedForMs < KEEP_DEVICES_MS || this.#isAbandoned) return;
    this.#isAbandoned = true;
    logger.error("this instance has had no lease for too long; its devices are sent to others");
    onAbandoned();
  }
}
