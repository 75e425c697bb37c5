import type { Clock } from "../../lib/clock.ts";
import { Groups } from "../../lib/groups.ts";
import type { Logger } from "../../lib/logger.ts";
import { Repeat } from "../../lib/repeat.ts";
import { ACCESS_KINDS, type AccessKind, type AccessVersions, type Store } from "../store/store.ts";
import { logStoreError } from "../store/unavailable.ts";

const POLL_MS = 2_000;

/** Checks in a row after which the event loop gets a turn. */
const MAX_CHECKS_PER_TURN = 100;

/** What is watched: a device, a key or a user. */
export type Subject = `asset ${string}` | `key ${string}` | `user ${string}`;

/** Subject of the session of an asset's device. */
export function deviceSubject(assetUuid: string): Subject {
  return `asset ${assetUuid}`;
}

/** Subject of the streams opened with a key. */
export function keySubject(keyId: string): Subject {
  return `key ${keyId}`;
}

/** Subject of the streams opened in the sessions of a user. */
export function userSubject(userId: string): Subject {
  return `user ${userId}`;
}

function kindOf(subject: Subject): AccessKind {
  return subject.startsWith("user ") ? "people" : "machines";
}

/** One for each session and stream, so that it is small. */
class WatchEntry implements Disposable {
  readonly subject: Subject;
  readonly isAllowed: () => Promise<boolean>;
  readonly onRevoked: () => void;
  readonly #watcher: { remove(entry: WatchEntry): void };

  constructor(
    subject: Subject,
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
  readonly #store: Pick<Store, "accessVersions">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By kind: a person who signs out is no reason to check all devices. */
  readonly #watched = {
    machines: new Groups<Subject, WatchEntry>(),
    people: new Groups<Subject, WatchEntry>(),
  } satisfies Record<AccessKind, unknown>;
  readonly #remover = { remove: (entry: WatchEntry): void => this.#remove(entry) };
  #repeat: Repeat | undefined;
  #lastVersions: Partial<AccessVersions> = {};

  constructor(store: Pick<Store, "accessVersions">, clock: Clock, logger: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#logger = logger;
  }

  /**
   * Calls `onRevoked` once when `isAllowed` returns false. Stops when disposed.
   *
   * @param subject the name to pass to `recheck`
   */
  watch(subject: Subject, isAllowed: () => Promise<boolean>, onRevoked: () => void): Disposable {
    const entry = new WatchEntry(subject, isAllowed, onRevoked, this.#remover);
    this.#watched[kindOf(subject)].add(subject, entry);
    this.#repeat ??= new Repeat(this.#clock, POLL_MS, () => this.#pollQuietly());
    return entry;
  }

  /** Checks the subject again. Call it after revoking its access in this process. */
  async recheck(subject: Subject): Promise<void> {
    for (const entry of this.#watched[kindOf(subject)].of(subject)) {
      if (await entry.isAllowed()) continue;
      this.#remove(entry);
      entry.onRevoked();
    }
  }

  [Symbol.dispose](): void {
    for (const kind of ACCESS_KINDS) this.#watched[kind].clear();
    this.#stop();
  }

  #remove(entry: WatchEntry): void {
    this.#watched[kindOf(entry.subject)].delete(entry.subject, entry);
    if (ACCESS_KINDS.every((kind) => this.#watched[kind].size === 0)) this.#stop();
  }

  #stop(): void {
    this.#repeat?.[Symbol.dispose]();
    this.#repeat = undefined;
    this.#lastVersions = {};
  }

  async #pollQuietly(): Promise<void> {
    try {
      await this.#poll();
    } catch (error) {
      logStoreError(this.#logger, error, {}, "cannot check whether access was revoked");
    }
  }

  async #poll(): Promise<void> {
    const versions = await this.#store.accessVersions();
    for (const kind of ACCESS_KINDS) {
      if (versions[kind] === this.#lastVersions[kind]) continue;
      await this.#recheckAll(kind);
      this.#lastVersions = { ...this.#lastVersions, [kind]: versions[kind] };
    }
  }

  async #recheckAll(kind: AccessKind): Promise<void> {
    const watched = this.#watched[kind];
    let checked = 0;
    for (const subject of watched.keys()) {
      checked += watched.of(subject).length;
      await this.recheck(subject);
      if (checked < MAX_CHECKS_PER_TURN) continue;
      checked = 0;
      await new Promise(setImmediate);
    }
  }
}
