import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { AUDIT_RETENTION_S } from "../core/people/audit-actions.ts";
import { dayOf } from "../core/health-days.ts";
import { CONNECTIVITY_KEPT_DAYS } from "../store/connectivity.ts";
import { HEALTH_KEPT_DAYS, QUARTER_ROWS_KEPT_DAYS } from "../store/health.ts";
import { IDEMPOTENCY_KEPT_MS } from "../store/idempotency.ts";
import type { Store } from "../store/store.ts";
import { UPLOAD_KEPT_S } from "../store/uploads.ts";
import { logStoreError, StoreUnavailableError } from "../store/unavailable.ts";

/** Leaves the time after a start to devices that reconnect. */
const INITIAL_DELAY_MS = 60_000;
const INTERVAL_MS = 3_600_000;
/** Pause between two batches of one round, so that requests wait for one batch at most. */
const BATCH_PAUSE_MS = 1_000;
/** Pause while the store is unavailable. */
const RETRY_DELAY_MS = 60_000;
const MAX_BATCH_DEPLOYMENTS = 50;
const MAX_BATCH_ENTRIES = 500;
const MAX_BATCH_INTERVALS = 1_000;
const MAX_BATCH_HEALTH_DAYS = 200;
const MAX_BATCH_UPLOADS = 50;
/** Of 128 KiB. */
const MAX_BATCH_PIECES = 16;

export interface RetentionOptions {
  readonly store: {
    readonly deployments: Pick<Store["deployments"], "removeFinished">;
    readonly audit: Pick<Store["audit"], "removeOld">;
    readonly rollouts: Pick<Store["rollouts"], "removeOldRollouts">;
    readonly connectivity: Pick<Store["connectivity"], "removeOld">;
    readonly health: Pick<Store["health"], "condenseDays" | "removeDays">;
    readonly enrolments: Pick<Store["enrolments"], "removeOldCodes">;
    readonly userSessions: Pick<Store["userSessions"], "removeExpired">;
    readonly idempotency: Pick<Store["idempotency"], "removeOld">;
    readonly uploads: Pick<Store["uploads"], "removeUnused" | "removeUnusedPieces">;
  };
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether this instance is to do it now. */
  readonly acquire: () => Promise<boolean>;
  /** How long a deployment is kept after its end, in milliseconds. */
  readonly retentionMs: number;
}

/**
 * Removes old finished deployments, old entries of the audit log, rollouts that ended as long ago, the times when devices were
 * connected thirteen months ago and how they were, uploads that nothing needs, and sessions, codes and
 * responses to idempotent requests that have expired, every hour, in small batches, from its creation until disposed.
 */
export class Retention implements Disposable {
  readonly #options: RetentionOptions;
  #timer: Disposable;
  #disposed = false;
  #removed = 0;
  #removedEntries = 0;

  constructor(options: RetentionOptions) {
    this.#options = options;
    this.#timer = this.#schedule(INITIAL_DELAY_MS);
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#timer[Symbol.dispose]();
  }

  #schedule(delayMs: number): Disposable {
    return this.#options.clock.timer(delayMs, () => {
      this.#removeBatch().then(
        (hasMore) => this.#continue(hasMore ? BATCH_PAUSE_MS : INTERVAL_MS),
        (error: unknown) => {
          logStoreError(this.#options.logger, error, {}, "cannot remove old records; trying again in an hour");
          this.#continue(error instanceof StoreUnavailableError ? RETRY_DELAY_MS : INTERVAL_MS);
        },
      );
    });
  }

  #continue(delayMs: number): void {
    if (!this.#disposed) this.#timer = this.#schedule(delayMs);
  }

  async #removeBatch(): Promise<boolean> {
    const { store, clock, logger, acquire, retentionMs } = this.#options;
    if (!(await acquire())) return false;
    const deletionMs = clock.deletionTime();
    const deletionTime = Math.floor(deletionMs / 1000);
    const removed = await store.deployments.removeFinished(deletionMs - retentionMs, MAX_BATCH_DEPLOYMENTS);
    const entries = await store.audit.removeOld(deletionTime - AUDIT_RETENTION_S, MAX_BATCH_ENTRIES);
    // With each one go its targets, which may be thousands.
    const rollouts = await store.rollouts.removeOldRollouts(deletionMs - AUDIT_RETENTION_S * 1000, 1);
    const intervals = await store.connectivity.removeOld(
      deletionTime - CONNECTIVITY_KEPT_DAYS * 86_400,
      MAX_BATCH_INTERVALS,
    );
    const today = dayOf(deletionTime);
    const condensed = await store.health.condenseDays(today - QUARTER_ROWS_KEPT_DAYS, MAX_BATCH_HEALTH_DAYS);
    const healthDays = await store.health.removeDays(today - HEALTH_KEPT_DAYS, MAX_BATCH_HEALTH_DAYS);
    const uploads = await store.uploads.removeUnused(deletionTime - UPLOAD_KEPT_S, MAX_BATCH_UPLOADS);
    const pieces = await store.uploads.removeUnusedPieces(MAX_BATCH_PIECES);
    // There are few of them: no batches.
    await store.enrolments.removeOldCodes(deletionTime);
    await store.userSessions.removeExpired(deletionTime);
    await store.idempotency.removeOld(deletionMs - IDEMPOTENCY_KEPT_MS);
    this.#removed += removed;
    this.#removedEntries += entries;
    if (removed === MAX_BATCH_DEPLOYMENTS || entries === MAX_BATCH_ENTRIES) return true;
    if (rollouts > 0 || intervals === MAX_BATCH_INTERVALS) return true;
    if (uploads === MAX_BATCH_UPLOADS || pieces === MAX_BATCH_PIECES) return true;
    if (condensed === MAX_BATCH_HEALTH_DAYS || healthDays === MAX_BATCH_HEALTH_DAYS) return true;
    if (this.#removed > 0) logger.info({ count: this.#removed }, "removed old deployments");
    if (this.#removedEntries > 0) logger.info({ count: this.#removedEntries }, "removed old entries of the audit log");
    this.#removed = 0;
    this.#removedEntries = 0;
    return false;
  }
}
