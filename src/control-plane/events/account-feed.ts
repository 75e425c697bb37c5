import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { Latch } from "../../lib/latch.ts";
import type { StoredAccountEvent, AccountEventPage } from "../store/account-events.ts";
import { logStoreError, storeRetryDelayMs } from "../store/unavailable.ts";
import type { AccountEvent, AccountStreamNote } from "../../protocol/assets/account-event.ts";

/** Events that are read and sent in one piece. */
const MAX_BATCH_EVENTS = 200;
/** Pause between two reads, so that events that are stored close together are read together. */
const PAUSE_MS = 20;
/** Pause between two looks of a reader that gets every message, in milliseconds: its looks find nothing. */
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

/** Which events of the account a stream gets. */
export interface EventFilter {
  /** Whether the stream gets an event, judged by the event alone. */
  readonly wants: (event: AccountEventFacts) => boolean;
  /** Returns which of the assets the stream gets events of; absent: of all. */
  readonly select?: ((assetUuids: readonly string[]) => Promise<ReadonlySet<string>>) | undefined;
}

type AccountEventFacts = StoredAccountEvent["event"];

/** A stream, with the id of the last event that was looked at for it. */
export interface FeedStream {
  readonly sink: EventSink;
  /** `undefined`: the stream gets all events. */
  readonly filter: EventFilter | undefined;
  cursor: number;
  /** Its cursor at the last keep-alive. */
  told: number;
}

const KEEP_ALIVE = Buffer.from("\n");

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
    const stream: FeedStream = { sink, filter, cursor: after, told: after };
    this.#behind.add(stream);
    void this.#catchUp(stream);
    return stream;
  }

  remove(stream: FeedStream): void {
    this.#live.delete(stream);
    this.#behind.delete(stream);
  }

  /**
   * Keeps the connections of the streams alive. A client whose filter has left out events gets the id of the last of them, without
   * data: standard clients go on from there, and do not ask for what is no longer kept.
   */
  keepAlive(): void {
    for (const stream of [...this.#live, ...this.#behind]) {
      const { filter, cursor, told, sink } = stream;
      stream.told = cursor;
      sink.send(filter && cursor > told ? Buffer.from(`id: ${cursor}\n\n`) : KEEP_ALIVE);
    }
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
      const events = page && (await this.#attempt(() => wantedOf(stream, page.events), failures));
      failures = events ? 0 : failures + 1;
      if (!events || !this.#behind.has(stream)) continue;
      sendTo(stream, events);
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
    // An event may have been stored since the first stream had caught up.
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
      await this.#send(page.events, after, page.next);
      if (page.hasMore) this.#latch.set();
      await clock.sleep(PAUSE_MS);
    }
    this.#isRunning = false;
    // The next stream that has caught up sets where reading goes on.
    if (this.#live.size === 0) this.#cursor = undefined;
    else void this.#run();
  }

  async #send(events: readonly StoredAccountEvent[], after: number, next: number): Promise<void> {
    const bytes = events.length > 0 ? formatEvents(events) : undefined;
    const selecting: Promise<void>[] = [];
    for (const stream of this.#live) {
      if (stream.filter?.select) {
        selecting.push(this.#sendSelected(stream, events, next));
        continue;
      }
      if (stream.cursor <= after && !stream.filter) {
        if (bytes) stream.sink.send(bytes);
      } else {
        // The stream has read some of the events itself, or its filter leaves some out.
        sendTo(
          stream,
          events.filter(({ id, event }) => id > stream.cursor && (stream.filter?.wants(event) ?? true)),
        );
      }
      stream.cursor = Math.max(stream.cursor, next);
    }
    await Promise.all(selecting);
  }

  /** A stream whose assets cannot be looked up now reads the events again itself: the others do not wait for it. */
  async #sendSelected(stream: FeedStream, events: readonly StoredAccountEvent[], next: number): Promise<void> {
    try {
      const wanted = await wantedOf(stream, events);
      if (!this.#live.has(stream)) return;
      sendTo(stream, wanted);
      stream.cursor = Math.max(stream.cursor, next);
    } catch {
      if (!this.#live.delete(stream)) return;
      this.#behind.add(stream);
      void this.#catchUp(stream);
    }
  }

  /** Returns the next events, and up to which id there are no others; `undefined`, after a pause, if that failed. */
  async #read(after: number, failures: number) {
    const page = await this.#attempt(() => this.#options.read(after, MAX_BATCH_EVENTS), failures);
    if (!page) return undefined;
    const { events, hasMore, lastId } = page;
    const last = events.at(-1)?.id ?? after;
    return { events, hasMore, next: hasMore ? last : Math.max(last, lastId) };
  }

  /** Returns `undefined`, after a pause, if the store fails. */
  async #attempt<T>(read: () => Promise<T>, failures: number): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      const { clock, logger } = this.#options;
      logStoreError(logger, error, {}, "cannot read the events of an account; trying again");
      await clock.sleep(storeRetryDelayMs(failures, Math.random()));
      return undefined;
    }
  }
}

function sendTo({ sink }: FeedStream, events: readonly StoredAccountEvent[]): void {
  if (events.length > 0) sink.send(formatEvents(events));
}

/** Returns those of the events that the stream gets and was not sent yet. */
async function wantedOf(
  { filter, cursor }: FeedStream,
  events: readonly StoredAccountEvent[],
): Promise<readonly StoredAccountEvent[]> {
  const wanted = events.filter(({ id, event }) => id > cursor && (filter?.wants(event) ?? true));
  if (!filter?.select || wanted.length === 0) return wanted;
  const uuids = wanted.flatMap(({ event }) => assetOf(event) ?? []);
  const selected = await filter.select([...new Set(uuids)]);
  return wanted.filter(({ event }) => selected.has(assetOf(event) ?? "") || event.type === "asset.removed");
}

function assetOf(event: AccountEventFacts): string | undefined {
  return "asset_id" in event ? event.asset_id : undefined;
}

/** Reads the events of an account after an id. */
export type ReadEvents = (after: number, limit: number) => Promise<AccountEventPage>;

/** Formats a note or an event: a line with its id, one with its data, and a blank line. */
export function formatLine(content: AccountStreamNote | AccountEvent): string {
  return `id: ${content.id}\ndata: ${JSON.stringify(content)}\n\n`;
}

/** Formats events as the stream has them. */
function formatEvents(events: readonly StoredAccountEvent[]): Buffer {
  const lines = events.map(({ id, atMs, event }) => {
    const { type, ...about } = event;
    return formatLine({ id: String(id), type, timestamp: Math.floor(atMs / 1000), ...about } as AccountEvent);
  });
  return Buffer.from(lines.join(""));
}
