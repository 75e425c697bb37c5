import { type Clock, unixNow } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { DeviceStore } from "../store/devices.ts";

/** Delay of a write, so that a fleet that reconnects does not cost one write per device. */
const FLUSH_DELAY_MS = 5_000;

/**
 * When devices were last connected, recorded when they connect and disconnect, and written in batches. After a kill, the
 * last seconds are lost, and devices connected then count as last seen when they connected.
 */
export class LastSeen implements AsyncDisposable {
  readonly #store: Pick<DeviceStore, "findLastSeen" | "recordSeen">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #pending = new Map<string, number>();
  /** The batch being written. Batches are written one after the other, so that the newest is written last. */
  #writing: ReadonlyMap<string, number> = new Map();
  #written: Promise<void> = Promise.resolve();
  #timer: Disposable | undefined;

  constructor(store: Pick<DeviceStore, "findLastSeen" | "recordSeen">, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The device is connected right now. */
  record(assetUuid: string): void {
    this.#pending.set(assetUuid, unixNow(this.#clock));
    this.#timer ??= this.#clock.timer(FLUSH_DELAY_MS, () => this.#flush());
  }

  /** Unix seconds; `undefined` when it never was. */
  async find(assetUuid: string): Promise<number | undefined> {
    const unsaved = this.#pending.get(assetUuid) ?? this.#writing.get(assetUuid);
    return unsaved ?? (await this.#store.findLastSeen(assetUuid));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#flush();
    await this.#written;
  }

  #flush(): void {
    this.#timer = undefined;
    this.#written = this.#written.then(() => this.#write());
  }

  async #write(): Promise<void> {
    const batch = this.#pending;
    this.#pending = new Map();
    this.#writing = batch;
    if (batch.size === 0) return;
    try {
      await this.#store.recordSeen(batch);
    } catch (error) {
      // The next connection records it again; nothing else depends on it.
      this.#logger.error({ err: error }, "cannot record when devices were last seen");
    } finally {
      this.#writing = new Map();
    }
  }
}
