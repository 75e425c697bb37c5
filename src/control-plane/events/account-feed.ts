import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { Latch } from "../../lib/latch.ts";
import type { StoredAccountEvent } from "../store/account-events.ts";
import { logStoreError, storeRetryDelayMs } from "../store/unavailable.ts";
import { formatEvents, type ReadEvents } from "./format-events.ts";

/** Events that are read and sent in one piece. */
const MAX_BATCH_EVENTS = 200;
/** Pause between two reads, so that events that are stored close together are read together. */
const PAUSE_MS = 20;
/** A reader without messages looks this often; no message is lost then, so there is nothing to find. */
const IDLE_MS = 60_000;

/** Where the events of a stream go. */
export interface EventSink {
  /** Sends the bytes at once, or ends the stream if its client does not read. Never keeps them. */
  send(bytes: Buffer): void;
  /** Resolves when the client has read what was sent; to false if the stream has ended. */
  drained(): Promise<boolean>;
}

export interface AccountFeedOptions {
  readonly read: ReadEvents;
  readonly subscribe: (listener: () => void) => Disposable;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly pollMs: number | undefined;
}

/** Whether a stream has an event. */
export type EventFilter = (event: StoredAccountEvent["event"]) => boolean;

/** A stream, with the id of the last event that was looked at for it. */
export interface FeedStream {
  readonly sink: EventSink;
  /** `undefined`: it has all. */
  readonly filter: EventFilter | undefined;
  cursor: number;
}

/**
 * The events of one account. One reader serves all streams that have everything so far: they get the same bytes, unless they have
 * a filter. A stream that begins earlier reads until it has caught up.
 */
export class AccountFeed implements Disposable {
  readonly #options: AccountFeedOptions;
  readonly #live = new Set<FeedStream>();
  /** Streams that still read earlier events. */
  readonly #behind = new Set<FeedStream>();
  readonly #latch = new Latch();
  readonly #subscription: Disposable;
  /** The last event that was sent to the live streams; `undefined` before the first of them. */
  #cursor: number | undefined;
  #isRunning = false;
  #isClosed = false;

  constructor(options: AccountFeedOptions) {
    this.#options = options;
    this.#subscription = options.subscribe(this.#latch.set);
  }

  /** Number of its streams. */
  get size(): number {
    return this.#live.size + this.#behind.size;
  }

  add(after: number, sink: EventSink, filter?: EventFilter): FeedStream {
    const stream: FeedStream = { sink, filter, cursor: after };
    this.#behind.add(stream);
    void this.#catchUp(stream);
    return stream;
  }

  remove(stream: FeedStream): void {
    this.#live.delete(stream);
    this.#behind.delete(stream);
  }

  /** Sends bytes that are not an event. */
  sendToAll(bytes: Buffer): void {
    for (const stream of [...this.#live, ...this.#behind]) stream.sink.send(bytes);
  }

  [Symbol.dispose](): void {
    this.#isClosed = true;
    this.#subscription[Symbol.dispose]();
    this.#live.clear();
    this.#behind.clear();
    this.#latch.set();
  }

  async #catchUp(stream: FeedStream): Promise<void> {
    for (let failures = 0; this.#behind.has(stream);) {
      const page = await this.#read(stream.cursor, failures);
      failures = page ? 0 : failures + 1;
      if (!page || !this.#behind.has(stream)) continue;
      sendTo(stream, page.events);
      stream.cursor = page.next;
      if (!page.hasMore && stream.cursor >= (this.#cursor ?? stream.cursor)) {
        this.#behind.delete(stream);
        this.#live.add(stream);
        this.#cursor ??= stream.cursor;
        void this.#run();
        return;
      }
      if (!(await stream.sink.drained())) this.#behind.delete(stream);
    }
  }

  /** Reads for the live streams while there are any. */
  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    const { clock, pollMs = IDLE_MS } = this.#options;
    // Something may have been stored since the first stream had caught up.
    this.#latch.set();
    let failures = 0;
    while (this.#live.size > 0 && !this.#isClosed) {
      await this.#latch.wait(clock, pollMs);
      const after = this.#cursor;
      if (this.#live.size === 0 || after === undefined) break;
      const page = await this.#read(after, failures);
      failures = page ? 0 : failures + 1;
      if (!page) this.#latch.set();
      if (!page || page.next <= after) continue;
      this.#cursor = page.next;
      this.#send(page.events, after, page.next);
      if (page.hasMore) this.#latch.set();
      await clock.sleep(PAUSE_MS);
    }
    this.#isRunning = false;
    // The next stream that has caught up says where it goes on.
    if (this.#live.size === 0) this.#cursor = undefined;
    else void this.#run();
  }

  #send(events: readonly StoredAccountEvent[], after: number, next: number): void {
    const bytes = events.length > 0 ? formatEvents(events) : undefined;
    for (const stream of this.#live) {
      if (stream.cursor <= after && !stream.filter) {
        if (bytes) stream.sink.send(bytes);
      } else {
        // It has read some of them itself, or does not have all.
        sendTo(
          stream,
          events.filter(({ id }) => id > stream.cursor),
        );
      }
      stream.cursor = Math.max(stream.cursor, next);
    }
  }

  /** Returns the next events, and up to which id there are no others; `undefined`, after a pause, if that failed. */
  async #read(after: number, failures: number) {
    try {
      const { events, hasMore, lastId } = await this.#options.read(after, MAX_BATCH_EVENTS);
      const last = events.at(-1)?.id ?? after;
      return { events, hasMore, next: hasMore ? last : Math.max(last, lastId) };
    } catch (error) {
      const { clock, logger } = this.#options;
      logStoreError(logger, error, {}, "cannot read the events of an account; trying again");
      await clock.sleep(storeRetryDelayMs(failures, Math.random()));
      return undefined;
    }
  }
}

function sendTo({ sink, filter }: FeedStream, events: readonly StoredAccountEvent[]): void {
  const wanted = filter ? events.filter(({ event }) => filter(event)) : events;
  if (wanted.length > 0) sink.send(formatEvents(wanted));
}
