import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { DeviceStore } from "../store/devices.ts";

/** How long what was seen is gathered before it is written: a fleet that comes back must not cost a write per device. */
const GATHER_MS = 5_000;

/**
 * When devices were last connected, noted when they come and when they go. Written in batches; what was seen in the last
 * seconds before a kill is lost, and devices that were connected then count as seen when they came.
 */
export class LastSeen implements AsyncDisposable {
  readonly #store: Pick<DeviceStore, "findLastSeen" | "recordSeen">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  #pending = new Map<string, number>();
  #timer: Disposable | undefined;

  constructor(store: Pick<DeviceStore, "findLastSeen" | "recordSeen">, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** The device is connected right now. */
  note(assetUuid: string): void {
    this.#pending.set(assetUuid, Math.floor(this.#clock.now() / 1000));
    this.#timer ??= this.#clock.timer(GATHER_MS, () => void this.#flush());
  }

  /** Unix seconds; `undefined` when it never was. */
  async find(assetUuid: string): Promise<number | undefined> {
    return this.#pending.get(assetUuid) ?? (await this.#store.findLastSeen(assetUuid));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    await this.#flush();
  }

  async #flush(): Promise<void> {
    this.#timer = undefined;
    const batch = this.#pending;
    this.#pending = new Map();
    if (batch.size === 0) return;
    try {
      await this.#store.recordSeen(batch);
    } catch (error) {
      // The next connection writes it anew; nothing else depends on it.
      this.#logger.error({ err: error }, "cannot record when devices were last seen");
    }
  }
}
