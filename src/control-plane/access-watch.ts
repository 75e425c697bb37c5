import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "./store/store.ts";

const POLL_MS = 2_000;

interface Watched {
  readonly isAllowed: () => Promise<boolean>;
  readonly onRevoked: () => void;
}

/**
 * Notices when a key or a token loses its right while something of it is open: at once where this process revoked it,
 * within seconds where the administration did. As long as nothing is open it does nothing.
 */
export class AccessWatch implements Disposable {
  readonly #store: Pick<Store, "foreignChanges">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #watched = new Set<Watched>();
  #timer: Disposable | undefined;
  #seenChanges: number | undefined;

  constructor(store: Pick<Store, "foreignChanges">, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Calls `onRevoked` once when `isAllowed` has turned false, until disposed. */
  watch(isAllowed: () => Promise<boolean>, onRevoked: () => void): Disposable {
    const entry = { isAllowed, onRevoked };
    this.#watched.add(entry);
    this.#timer ??= this.#schedule();
    return { [Symbol.dispose]: () => this.#remove(entry) };
  }

  /** Asks again about everything that is watched. Call it after this process has revoked something. */
  async recheck(): Promise<void> {
    for (const entry of this.#watched) {
      if (await entry.isAllowed()) continue;
      this.#remove(entry);
      entry.onRevoked();
    }
  }

  [Symbol.dispose](): void {
    this.#watched.clear();
    this.#stop();
  }

  #remove(entry: Watched): void {
    this.#watched.delete(entry);
    if (this.#watched.size === 0) this.#stop();
  }

  #stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#seenChanges = undefined;
  }

  #schedule(): Disposable {
    return this.#clock.timer(POLL_MS, () => {
      this.#poll()
        .catch((error: unknown) => this.#logger.error({ err: error }, "cannot check whether access was revoked"))
        .finally(() => {
          if (this.#timer) this.#timer = this.#schedule();
        });
    });
  }

  async #poll(): Promise<void> {
    const changes = await this.#store.foreignChanges();
    if (changes === this.#seenChanges) return;
    await this.recheck();
    this.#seenChanges = changes;
  }
}
