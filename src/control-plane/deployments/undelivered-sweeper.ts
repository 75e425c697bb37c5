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
  /** The asset with which the last sweep by the interval ended; `undefined`: with the last one. */
  #position: string | undefined;
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
    this.#timer = clock.timer(intervalMs, () => void this.#sweepOn().then(() => this.#schedule()));
  }

  /** Wakes all of them: some stay on the list, such as those that a data plan holds back, and would hide the others. */
  async #sweep(attempt = 0): Promise<void> {
    let after: string | undefined;
    try {
      do after = await this.#wakePage(after);
      while (after !== undefined && !this.#disposed);
    } catch (error) {
      this.#onError(error, attempt);
    }
  }

  /** Wakes a page of them, and the next one the next time: those that stay on the list are not to be read all the time. */
  async #sweepOn(): Promise<void> {
    try {
      this.#position = await this.#wakePage(this.#position);
    } catch (error) {
      this.#onError(error, 0);
    }
  }

  /** Returns the asset after which there may be more. */
  async #wakePage(after: string | undefined): Promise<string | undefined> {
    const { store, bus, instanceId } = this.#options;
    const assetUuids = await store.listUndeliveredAssets(instanceId, after);
    for (const assetUuid of assetUuids) bus.publishWake(instanceId, assetUuid);
    return assetUuids.length < MAX_UNDELIVERED ? undefined : assetUuids.at(-1);
  }

  #onError(error: unknown, attempt: number): void {
    logStoreError(this.#options.logger, error, {}, "cannot read which devices have something waiting for them");
    if (error instanceof StoreUnavailableError) this.#retryLater(attempt);
  }

  #retryLater(attempt: number): void {
    if (this.#disposed || this.#retry) return;
    this.#retry = this.#options.clock.timer(storeRetryDelayMs(attempt, Math.random()), () => {
      this.#retry = undefined;
      void this.#sweep(attempt + 1);
    });
  }
}
