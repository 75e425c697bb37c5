import type { Clock } from "../../lib/clock.ts";
import { Coalesced } from "../../lib/coalesced.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Bus } from "../bus/bus.ts";
import { type DeploymentStore, MAX_UNDELIVERED } from "../store/deployments.ts";
import { logStoreError, storeRetryDelayMs, StoreUnavailableError } from "../store/unavailable.ts";

export interface UndeliveredSweeperOptions {
  readonly store: Pick<DeploymentStore, "listUndeliveredAssets">;
  readonly bus: Bus;
  readonly instanceId: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Pause between two sweeps in milliseconds; `undefined` if no wake-up can be lost. */
  readonly intervalMs: number | undefined;
}

/** Wakes this instance for devices it holds whose wake-up was lost. Without an interval, only when the bus asks for it. */
export class UndeliveredSweeper implements Disposable {
  readonly #options: UndeliveredSweeperOptions;
  readonly #wakes: Disposable;
  /** However often the bus asks, one sweep is in progress for it. */
  readonly #asked = new Coalesced(() => this.#sweep());
  #timer: Disposable | undefined;
  /** Set while the store is unavailable. */
  #retry: Disposable | undefined;
  #disposed = false;

  constructor(options: UndeliveredSweeperOptions) {
    this.#options = options;
    this.#wakes = options.bus.subscribeWakes(options.instanceId, (assetUuid) => {
      if (assetUuid === undefined && !this.#retry) void this.#asked.run();
    });
    this.#schedule();
  }

  [Symbol.dispose](): void {
    this.#disposed = true;
    this.#wakes[Symbol.dispose]();
    this.#timer?.[Symbol.dispose]();
    this.#retry?.[Symbol.dispose]();
  }

  /** Sweeps in a moment: something may wait without a wake-up. */
  sweepSoon(): void {
    this.#retryLater(0);
  }

  #schedule(): void {
    const { clock, intervalMs } = this.#options;
    if (intervalMs === undefined || this.#disposed) return;
    this.#timer = clock.timer(intervalMs, () => void this.#sweep().then(() => this.#schedule()));
  }

  async #sweep(attempt = 0): Promise<void> {
    const { store, bus, instanceId, logger } = this.#options;
    let after: string | undefined;
    try {
      // All of them: some stay on the list, such as those that a data plan holds back, and would hide the others.
      do {
        const assetUuids = await store.listUndeliveredAssets(instanceId, after);
        for (const assetUuid of assetUuids) bus.publishWake(instanceId, assetUuid);
        after = assetUuids.length < MAX_UNDELIVERED ? undefined : assetUuids.at(-1);
      } while (after !== undefined && !this.#disposed);
    } catch (error) {
      logStoreError(logger, error, {}, "cannot read which devices have something waiting for them");
      if (error instanceof StoreUnavailableError) this.#retryLater(attempt);
    }
  }

  #retryLater(attempt: number): void {
    if (this.#disposed || this.#retry) return;
    this.#retry = this.#options.clock.timer(storeRetryDelayMs(attempt, Math.random()), () => {
      this.#retry = undefined;
      void this.#sweep(attempt + 1);
    });
  }
}
