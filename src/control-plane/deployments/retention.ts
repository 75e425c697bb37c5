import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { DeploymentStore } from "../store/deployments.ts";

/** Leaves the time after a start to devices that reconnect. */
const INITIAL_DELAY_MS = 60_000;
const INTERVAL_MS = 3_600_000;
/** Pause between two batches of one round, so that requests wait for one batch at most. */
const BATCH_PAUSE_MS = 1_000;
const MAX_BATCH_DEPLOYMENTS = 50;

export interface RetentionOptions {
  readonly store: Pick<DeploymentStore, "removeFinished">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether this instance is to do it now. */
  readonly acquire: () => Promise<boolean>;
  /** How long a deployment is kept after its end, in milliseconds. */
  readonly retentionMs: number;
}

/** Removes old finished deployments every hour, in small batches, from its creation until disposed. */
export class Retention implements Disposable {
  readonly #options: RetentionOptions;
  #timer: Disposable;
  #disposed = false;
  #removed = 0;

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
          this.#options.logger.error({ err: error }, "cannot remove old deployments; trying again in an hour");
          this.#continue(INTERVAL_MS);
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
    const removed = await store.removeFinished(clock.now() - retentionMs, MAX_BATCH_DEPLOYMENTS);
    this.#removed += removed;
    if (removed === MAX_BATCH_DEPLOYMENTS) return true;
    if (this.#removed > 0) logger.info({ count: this.#removed }, "removed old deployments");
    this.#removed = 0;
    return false;
  }
}
