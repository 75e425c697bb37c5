import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { AccountStreamNote } from "../../protocol/assets/account-event.ts";
import type { Bus, Topic } from "../bus/bus.ts";
import type { AccountEventStore } from "../store/account-events.ts";
import { AccountFeed, type EventFilter, type EventSink } from "./account-feed.ts";

/** Interval of the lines that keep the connections of quiet streams alive. */
const KEEP_ALIVE_MS = 15_000;

/** Maximum reads before a stream begins: enough for all events that an account may have. */
const MAX_READS_TO_END = 100;

/** Returns the topic that is published when the account has new events. */
export function accountTopic(accountId: string): Topic {
  return `account.${accountId}`;
}

export interface AccountFeedsOptions {
  readonly store: AccountEventStore;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Pause between two looks for events whose message was lost; `undefined` if none can be lost. */
  readonly pollMs?: number | undefined;
}

/** Where a stream begins. */
export interface StreamStart {
  readonly note: AccountStreamNote | undefined;
  /** The events after this id follow. */
  readonly after: number;
}

/** Sends the events of accounts to their streams. Each account that has streams has one reader, whatever their number. */
export class AccountFeeds implements Disposable {
  readonly #options: AccountFeedsOptions;
  readonly #feeds = new Map<string, AccountFeed>();
  #keepAlive: Disposable | undefined;

  constructor(options: AccountFeedsOptions) {
    this.#options = options;
  }

  /**
   * Determines where a stream begins, and what it says first. Throws while the store is unavailable.
   *
   * @param after id of the last event that the client has; `undefined` if it has none
   */
  async start(accountId: string, after: number | undefined): Promise<StreamStart> {
    if (after === undefined) {
      const end = await this.#findEnd(accountId);
      return { note: { type: "hello", id: String(end) }, after: end };
    }
    const { removedTo, lastId } = await this.#options.store.read(accountId, after, 1);
    if (after >= removedTo && after <= lastId) return { note: undefined, after };
    const end = await this.#findEnd(accountId);
    return { note: { type: "reset", id: String(end) }, after: end };
  }

  /** Reads until the store has given ids to all new events, which it does in portions: a stream that begins gets later ones only. */
  async #findEnd(accountId: string): Promise<number> {
    for (let count = 1; ; count++) {
      const { lastId, hasMore } = await this.#options.store.read(accountId, Number.MAX_SAFE_INTEGER, 1);
      if (!hasMore || count === MAX_READS_TO_END) return lastId;
    }
  }

  /** Sends the events after `after` that the filter lets through to the sink, past and new ones, until disposed. */
  open(accountId: string, after: number, sink: EventSink, filter?: EventFilter): Disposable {
    const feed = this.#feeds.get(accountId) ?? this.#createFeed(accountId);
    const stream = feed.add(after, sink, filter);
    this.#keepAlive ??= this.#scheduleKeepAlive();
    return {
      [Symbol.dispose]: () => {
        feed.remove(stream);
        if (feed.size > 0 || this.#feeds.get(accountId) !== feed) return;
        feed[Symbol.dispose]();
        this.#feeds.delete(accountId);
        if (this.#feeds.size > 0) return;
        this.#keepAlive?.[Symbol.dispose]();
        this.#keepAlive = undefined;
      },
    };
  }

  [Symbol.dispose](): void {
    this.#keepAlive?.[Symbol.dispose]();
    this.#keepAlive = undefined;
    for (const feed of this.#feeds.values()) feed[Symbol.dispose]();
    this.#feeds.clear();
  }

  #createFeed(accountId: string): AccountFeed {
    const { store, bus, clock, logger, pollMs } = this.#options;
    const feed = new AccountFeed({
      read: (after, limit) => store.read(accountId, after, limit),
      subscribe: (listener) => bus.subscribe(accountTopic(accountId), listener),
      clock,
      logger,
      pollMs,
    });
    this.#feeds.set(accountId, feed);
    return feed;
  }

  #scheduleKeepAlive(): Disposable {
    return this.#options.clock.timer(KEEP_ALIVE_MS, () => {
      for (const feed of this.#feeds.values()) feed.keepAlive();
      this.#keepAlive = this.#scheduleKeepAlive();
    });
  }
}
