import type { Clock } from "../lib/clock.ts";
import { Groups } from "../lib/groups.ts";
import type { Logger } from "../lib/logger.ts";
import type { Store } from "./store/store.ts";
import { logStoreError } from "./store/unavailable.ts";

const POLL_MS = 2_000;

/** Checks in a row after which the event loop gets a turn. */
const MAX_CHECKS_PER_TURN = 100;

/** Subject of the session of an asset's device. */
export function deviceSubject(assetUuid: string): string {
  return `asset ${assetUuid}`;
}

/** Subject of the streams opened with a key. */
export function keySubject(keyId: string): string {
  return `key ${keyId}`;
}

/** Subject of the streams opened in the sessions of a user. */
export function userSubject(userId: string): string {
  return `user ${userId}`;
}

/** One for each session and stream, so that it is small. */
class WatchEntry implements Disposable {
  readonly subject: string;
  readonly isAllowed: () => Promise<boolean>;
  readonly onRevoked: () => void;
  readonly #watcher: { remove(entry: WatchEntry): void };

  constructor(
    subject: string,
    isAllowed: () => Promise<boolean>,
    onRevoked: () => void,
    watcher: { remove(entry: WatchEntry): void },
  ) {
    this.subject = subject;
    this.isAllowed = isAllowed;
    this.onRevoked = onRevoked;
    this.#watcher = watcher;
  }

  [Symbol.dispose](): void {
    this.#watcher.remove(this);
  }
}

/**
 * Detects the revocation of a key or token that has open streams or sessions: at once through `recheck`, or within
 * seconds when another process, such as an administration command, revoked it. Polls only while something is watched.
 */
export class AccessWatcher implements Disposable {
  readonly #store: Pick<Store, "dataVersion">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #watched = new Groups<string, WatchEntry>();
  readonly #remover = { remove: (entry: WatchEntry): void => this.#remove(entry) };
  #timer: Disposable | undefined;
  #lastDataVersion: number | undefined;

  constructor(store: Pick<Store, "dataVersion">, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Calls `onRevoked` once when `isAllowed` returns false. Stops when disposed.
   *
   * @param subject the name to pass to `recheck`
   */
  watch(subject: string, isAllowed: () => Promise<boolean>, onRevoked: () => void): Disposable {
    const entry = new WatchEntry(subject, isAllowed, onRevoked, this.#remover);
    this.#watched.add(subject, entry);
    this.#timer ??= this.#schedule();
    return entry;
  }

  /** Checks the subject again. Call it after revoking its access in this process. */
  async recheck(subject: string): Promise<void> {
    for (const entry of this.#watched.of(subject)) {
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
    this.#watched.delete(entry.subject, entry);
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
        .catch((error: unknown) => logStoreError(this.#logger, error, {}, "cannot check whether access was revoked"))
        .finally(() => {
          if (this.#timer) this.#timer = this.#schedule();
        });
    });
  }

  async #poll(): Promise<void> {
    const version = await this.#store.dataVersion();
    if (version === this.#lastDataVersion) return;
    await this.#recheckAll();
    this.#lastDataVersion = version;
  }

  async #recheckAll(): Promise<void> {
    let checked = 0;
    for (const subject of this.#watched.keys()) {
      checked += this.#watched.of(subject).length;
      await this.recheck(subject);
      if (checked < MAX_CHECKS_PER_TURN) continue;
      checked = 0;
      await new Promise(setImmediate);
    }
  }
}
