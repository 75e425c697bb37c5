import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "./store/store.ts";

const POLL_MS = 2_000;

/** After so many questions in a row everything else has its turn. */
const MAX_CHECKS_PER_TURN = 100;

/** What the session of an asset's device is watched under. */
export function deviceSubject(assetUuid: string): string {
  return `asset ${assetUuid}`;
}

/** What everything that a key has open is watched under. */
export function keySubject(keyId: string): string {
  return `key ${keyId}`;
}

interface WatchEntry {
  readonly subject: string;
  readonly isAllowed: () => Promise<boolean>;
  readonly onRevoked: () => void;
}

/**
 * Notices when a key or a token loses its right while something of it is open: at once where this process revoked it,
 * within seconds where the administration did. As long as nothing is open it does nothing.
 */
export class AccessWatcher implements Disposable {
  readonly #store: Pick<Store, "dataVersion">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #watched = new Map<string, Set<WatchEntry>>();
  #timer: Disposable | undefined;
  #lastDataVersion: number | undefined;

  constructor(store: Pick<Store, "dataVersion">, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Calls `onRevoked` once when `isAllowed` has turned false, until disposed.
   *
   * @param subject by which `recheck` finds it
   */
  watch(subject: string, isAllowed: () => Promise<boolean>, onRevoked: () => void): Disposable {
    const entry = { subject, isAllowed, onRevoked };
    const entries = this.#watched.get(subject) ?? new Set();
    this.#watched.set(subject, entries.add(entry));
    this.#timer ??= this.#schedule();
    return { [Symbol.dispose]: () => this.#remove(entry) };
  }

  /** Asks again about what is watched under this subject. Call it after this process has revoked something of it. */
  async recheck(subject: string): Promise<void> {
    for (const entry of this.#watched.get(subject) ?? []) {
      if (await entry.isAllowed()) continue;
      this.#remove(entry);
      entry.onRevoked();
    }
  }

  [Symbol.dispose](): void {
    this.#watched.clear();
    this.#stop();
  }

  #remove(entry: WatchEntry): void {
    const entries = this.#watched.get(entry.subject);
    entries?.delete(entry);
    if (entries?.size === 0) this.#watched.delete(entry.subject);
    if (this.#watched.size === 0) this.#stop();
  }

  #stop(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    this.#lastDataVersion = undefined;
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
    const changes = await this.#store.dataVersion();
    if (changes === this.#lastDataVersion) return;
    await this.#recheckAll();
    this.#lastDataVersion = changes;
  }

  async #recheckAll(): Promise<void> {
    let asked = 0;
    for (const [subject, entries] of this.#watched) {
      await this.recheck(subject);
      asked += entries.size;
      if (asked < MAX_CHECKS_PER_TURN) continue;
      asked = 0;
      await new Promise(setImmediate);
    }
  }
}
