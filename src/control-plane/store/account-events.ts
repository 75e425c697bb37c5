import type { NewAccountEvent } from "../core/account-event.ts";

/** How long the events of an account are kept, and how many of one account. */
export const EVENTS_KEPT_MS = 24 * 3_600_000;
export const MAX_EVENTS_PER_ACCOUNT = 100_000;

/** An event as it is stored. */
export interface StoredAccountEvent {
  readonly id: number;
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly event: NewAccountEvent;
}

export interface AccountEventPage {
  /** In the order of their ids, which is that of the commits. */
  readonly events: readonly StoredAccountEvent[];
  readonly hasMore: boolean;
  /** Events up to this id are not there any more, or never were. */
  readonly removedTo: number;
  /** The highest id given so far. */
  readonly lastId: number;
}

/**
 * The events of accounts, which other parts of the store write with the changes they are about. An id that a reader has seen
 * is never followed by a lower one of the same account.
 */
export interface AccountEventStore {
  /** Returns the events of the account after an id, at most `limit`. */
  read(accountId: string, after: number, limit: number): Promise<AccountEventPage>;
  /**
   * Removes events from before this time, in Unix milliseconds, and the oldest of accounts that have more than
   * `MAX_EVENTS_PER_ACCOUNT`, in small transactions. Returns how many were removed of the latter.
   */
  prune(beforeMs: number): Promise<number>;
  /**
   * Called when the service starts. Gives no id again that was given before, though the database may have lost the latest.
   */
  prepare(): Promise<void>;
  /** Removes all events: the database is a copy of an earlier one, and readers have to begin anew. */
  startAnew(): Promise<void>;
}

/** Tells within the process that accounts have new events. */
export class AppendSignal {
  readonly #listeners = new Set<(accountId: string) => void>();

  add(listener: (accountId: string) => void): Disposable {
    const entry = (accountId: string): void => listener(accountId);
    this.#listeners.add(entry);
    return { [Symbol.dispose]: () => void this.#listeners.delete(entry) };
  }

  /** Must be called after the commit. */
  emit(accountIds: Iterable<string>): void {
    if (this.#listeners.size === 0) return;
    for (const id of accountIds) for (const listener of this.#listeners) listener(id);
  }
}
