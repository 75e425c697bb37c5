import { type Clock, unixNow } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { DeviceStore } from "../store/devices.ts";

/** How long what was seen is gathered before it is written: a fleet that comes back must not cost a write per device. */
const FLUSH_DELAY_MS = 5_000;

/**
 * When devices were last connected, noted when they come and when they go. Written in batches; what was seen in the last
 * seconds before a kill is lost, and devices that were connected then count as seen when they came.
 */
export class LastSeen implements AsyncDisposable {
  readonly #store: Pick<DeviceStore, "findLastSeen" | "recordSeen">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #pending = new Map<string, number>();
  /** What is being written, by batches one after the other, so that an older one is never written last. */
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
    const noted = this.#pending.get(assetUuid) ?? this.#writing.get(assetUuid);
    return noted ?? (await this.#store.findLastSeen(assetUuid));
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
      // The next connection writes it anew; nothing else depends on it.
      this.#logger.error({ err: error }, "cannot record when devices were last seen");
    } finally {
      this.#writing = new Map();
    }
  }
}
